/* Simulates the core with its faults, seed by seed (trial.h says what happens in one and what must
 * hold). Seeds are shared out over processes. Prints the seed of each failure and how to have it
 * again; the transitions that were reached. Exit status: 0 all well, 1 something was wrong. */
#include "ctl/test/faults/trial.h"

#include "base/mem.h"
#include "base/scan.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX     64u
#define FOUND_WITHIN 10000u

static const char usage[] =
    "usage: simulate_faults [options]\n"
    "  --seeds N      so many seeds (1)\n"
    "  --first N      the first of them (1)\n"
    "  --seed N       this one alone\n"
    "  --trace        prints every step\n"
    "  --jobs N       in so many processes (1)\n"
    "  --coverage P   fails when less than P percent of the legal transitions of a table were\n"
    "                 reached\n"
    "  --twice        each seed in two processes, in another order: the same happens\n"
    "  --planted NAME with a planted fault, until a seed finds it; `all`: each of them\n";

struct options {
    uint64_t seeds, first, jobs, coverage;
    bool trace, twice;
    enum planted planted;
    bool planted_all;
};
struct result {    /* of one process; shared with its parent */
    uint64_t seed; /* that runs */
    uint64_t next; /* of a share */
    uint64_t done, steps, deaths, starts, digest;
    uint64_t failed_seed;
    bool failed;
    char wrong[TRIAL_WRONG];
    struct coverage coverage;
};

struct share { /* of the seeds, for one process */
    uint64_t first, n;
    uint64_t *next; /* how many of them have begun; several processes may count here */
    bool down;      /* the last first */
    bool trace;
    enum planted planted;
};

static void run_share(const struct share *share, struct result *result)
{
    struct bench *bench = mem_new(sizeof *bench);
    struct trial *trial = mem_new(sizeof *trial);
    bench_init(bench);
    bench->hooks.planted = share->planted;
    for (uint64_t i; !result->failed &&
                     (i = __atomic_fetch_add(share->next, 1, __ATOMIC_RELAXED)) < share->n;) {
        result->seed = share->first + (share->down ? share->n - 1 - i : i);
        if (!trial_run(trial, bench, result->seed, share->trace)) {
            result->failed = true;
            result->failed_seed = result->seed;
            snprintf(result->wrong, sizeof result->wrong, "%s", trial->wrong);
        }
        result->done++;
        result->steps += trial->steps;
        result->starts += trial->starts;
        result->deaths += trial->deaths;
        result->digest += trial->digest; /* whatever the order */
        trial_fini(trial);
    }
    result->coverage = bench->coverage;
    bench_fini(bench);
    free(trial);
    free(bench);
}

static pid_t begin(const struct share *share, struct result *result)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        run_share(share, result);
        fflush(stdout);
        exit(0);
    }
    return pid;
}

static void settle(int status, struct result *result)
{
    if (status == 0 || result->failed)
        return;
    result->failed = true;
    result->failed_seed = result->seed;
    snprintf(result->wrong, sizeof result->wrong, "the process ended with status %d", status);
}

static void finish(pid_t pid, struct result *result)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        ;
    settle(status, result);
}

static struct result *shared_results(size_t n)
{
    void *at = mmap(NULL, n * sizeof(struct result), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        BUG("mmap");
    return at;
}

static bool tell_failures(const char *program, const struct result *results, uint64_t n)
{
    bool failed = false;
    for (uint64_t i = 0; i < n; i++) {
        if (!results[i].failed)
            continue;
        failed = true;
        printf("seed %llu: %s\n  again: %s --seed %llu --trace\n",
               (unsigned long long)results[i].failed_seed, results[i].wrong, program,
               (unsigned long long)results[i].failed_seed);
    }
    return failed;
}

static int run_all(const char *program, const struct options *o)
{
    uint64_t jobs = o->twice ? 2 : o->jobs;
    struct result *results = shared_results(jobs), sum = { 0 };
    pid_t pids[JOBS_MAX];
    for (uint64_t i = 0; i < jobs; i++) {
        struct share share = { .first = o->first,
                               .n = o->seeds,
                               .next = &results[o->twice ? i : 0].next,
                               .trace = o->trace,
                               .down = o->twice && i > 0 };
        pids[i] = begin(&share, &results[i]);
    }
    for (uint64_t i = 0; i < jobs; i++) {
        finish(pids[i], &results[i]);
        coverage_add(&sum.coverage, &results[i].coverage);
        sum.done += results[i].done;
        sum.steps += results[i].steps;
        sum.starts += results[i].starts;
        sum.deaths += results[i].deaths;
        sum.digest += results[i].digest;
    }
    bool wrong = tell_failures(program, results, jobs);
    printf("%llu seeds, %llu steps, %llu deaths of the server, %llu starts, digest %016llx\n",
           (unsigned long long)sum.done, (unsigned long long)sum.steps,
           (unsigned long long)sum.deaths, (unsigned long long)sum.starts,
           (unsigned long long)sum.digest);
    if (o->coverage && !coverage_print(&sum.coverage, (unsigned)o->coverage)) {
        printf("less than %llu percent of the legal transitions were reached\n",
               (unsigned long long)o->coverage);
        wrong = true;
    }
    if (o->twice && results[0].digest != results[1].digest) {
        printf("the same seeds did not go the same way\n");
        wrong = true;
    }
    return wrong;
}

/* ---- planted faults ---- */

static const struct {
    const char *name, *what;
} planted_faults[PLANTED_N] = {
#define PLANTED_ROW(id, name, what) [PLANTED_##id] = { name, what },
    PLANTED_FAULTS(PLANTED_ROW)
#undef PLANTED_ROW
};

static bool is_wanted(const struct options *o, unsigned fault)
{
    return fault < PLANTED_N && (o->planted_all || o->planted == fault);
}

static void tell_planted(unsigned fault, const struct result *result)
{
    printf("%s (%s): ", planted_faults[fault].name, planted_faults[fault].what);
    if (result->failed)
        printf("found by seed %llu: %s\n", (unsigned long long)result->failed_seed, result->wrong);
    else
        printf("not found by %llu seeds\n", (unsigned long long)result->done);
}

static pid_t begin_planted(const struct options *o, unsigned fault, struct result *result)
{
    struct share share = { .first = o->first,
                           .n = FOUND_WITHIN,
                           .next = &result->next,
                           .trace = o->trace,
                           .planted = (enum planted)fault };
    return begin(&share, result);
}

/* Each in a process of its own, as many at a time as there are jobs; the next one begins when any
 * ends. */
static int find_planted(const struct options *o)
{
    struct result *results = shared_results(PLANTED_N);
    pid_t pids[PLANTED_N] = { 0 };
    uint64_t running = 0;
    int missed = 0, status;
    for (unsigned next = 1; next < PLANTED_N || running;) {
        if (next < PLANTED_N && running < o->jobs) {
            if (is_wanted(o, next)) {
                pids[next] = begin_planted(o, next, &results[next]);
                running++;
            }
            next++;
            continue;
        }
        pid_t ended = wait(&status);
        for (unsigned fault = 1; fault < next; fault++)
            if (pids[fault] == ended)
                settle(status, &results[fault]);
        running--;
    }
    for (unsigned fault = 1; fault < PLANTED_N; fault++)
        if (is_wanted(o, fault)) {
            tell_planted(fault, &results[fault]);
            missed |= !results[fault].failed;
        }
    return missed;
}

static bool read_planted(struct options *o, const char *name)
{
    o->planted_all = strcmp(name, "all") == 0;
    for (unsigned i = 1; i < PLANTED_N; i++)
        if (strcmp(planted_faults[i].name, name) == 0)
            o->planted = (enum planted)i;
    return o->planted_all || o->planted;
}

static bool read_number(const char *text, uint64_t most, uint64_t *out)
{
    return scan_u64(text, 1, most, out) && *out > 0;
}

static bool read_option(struct options *o, int option)
{
    switch (option) {
    case 'n': return read_number(optarg, 100000000, &o->seeds);
    case 'f': return read_number(optarg, UINT64_MAX / 2, &o->first);
    case 's': o->seeds = 1; return read_number(optarg, UINT64_MAX / 2, &o->first);
    case 'j': return read_number(optarg, JOBS_MAX, &o->jobs);
    case 'c': return read_number(optarg, 100, &o->coverage);
    case 't': o->trace = true; return true;
    case '2': o->twice = true; return true;
    case 'p': return read_planted(o, optarg);
    default: return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option names[] = { { "seeds", required_argument, NULL, 'n' },
                                           { "first", required_argument, NULL, 'f' },
                                           { "seed", required_argument, NULL, 's' },
                                           { "jobs", required_argument, NULL, 'j' },
                                           { "coverage", required_argument, NULL, 'c' },
                                           { "trace", no_argument, NULL, 't' },
                                           { "twice", no_argument, NULL, '2' },
                                           { "planted", required_argument, NULL, 'p' },
                                           { NULL, 0, NULL, 0 } };
    struct options o = { .seeds = 1, .first = 1, .jobs = 1 };
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;)
        if (!read_option(&o, option)) {
            fputs(usage, stderr);
            return 2;
        }
    return o.planted || o.planted_all ? find_planted(&o) : run_all(argv[0], &o);
}
