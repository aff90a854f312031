/* The openb experiment for bench/openb: places every arrival of a list with a policy, for each
 * seed; prints one JSON document, a row for each run.
 *
 *   openb_load [--verify] [--permute SEED] NODES LIST FIRST-LAST POLICY...
 *
 * The books are kept here: a policy only says where. A node that has no room, or a task dropped
 * though some node had room (looked at with --verify), ends the program. */
#include "openb_policy.h"

#include "base/mem.h"
#include "base/opt.h"
#include "base/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CPU_ONLY, SHARE, ONE, TWO, FOUR, EIGHT, OTHER, SIZES };
static const char *const size_names[SIZES] = { "cpu", "share", "1", "2", "4", "8", "other" };

struct options {
    bool verify;
    uint64_t permute;
};
struct outcome {
    uint64_t placed; /* milli-GPU */
    uint64_t arrived[SIZES], accepted[SIZES];
    uint64_t pairs, states; /* work */
    double seconds;
};

static int size_of(const struct task *t)
{
    if (t->n == 0)
        return CPU_ONLY;
    if (task_shares(t))
        return SHARE;
    return t->n == 1 ? ONE : t->n == 2 ? TWO : t->n == 4 ? FOUR : t->n == 8 ? EIGHT : OTHER;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- one run ---- */

static void hold(struct host *h, const struct task *t, uint32_t gpu)
{
    if (!host_fits(h, t) || (task_shares(t) && (gpu >= h->n || !gpu_fits(h, gpu, t))))
        BUG("%s was put where it does not fit", t->name);
    h->cpu -= t->cpu;
    h->memory -= t->memory;
    if (task_shares(t)) {
        h->gpu[gpu] = (uint16_t)(h->gpu[gpu] - t->milli);
        return;
    }
    for (uint32_t i = 0, left = t->n; left; i++)
        if (h->gpu[i] == DEVICE_MILLI) {
            h->gpu[i] = 0;
            left--;
        }
}

static void check_drop(const struct experiment *e, const struct task *t)
{
    for (size_t i = 0; i < e->trace->n_hosts; i++)
        if (host_fits(&e->hosts[i], t))
            BUG("%s was dropped, node %zu has room", t->name, i);
}

/* What the books say is free is the capacity without what was placed. */
static void check_books(const struct experiment *e, const struct outcome *o, uint64_t whole)
{
    uint64_t left = 0;
    for (size_t i = 0; i < e->trace->n_hosts; i++)
        for (uint32_t k = 0; k < e->hosts[i].n; k++)
            left += e->hosts[i].gpu[k];
    if (left + o->placed + whole != e->trace->capacity)
        BUG("%" PRIu64 " milli-GPU are free after placing %" PRIu64, left, o->placed);
}

static struct outcome play(const struct trace *trace, const struct sequence *s,
                           const struct policy *policy, uint64_t seed, bool verify)
{
    struct outcome o = { 0 };
    struct experiment e = { .trace = trace, .seed = seed };
    uint64_t unused = 0; /* of devices taken whole by tasks that ask for a part of several */
    e.hosts = mem_new(trace->n_hosts * sizeof *e.hosts);
    memcpy(e.hosts, trace->hosts, trace->n_hosts * sizeof *e.hosts);
    double begin = cpu_seconds();
    void *data = policy->create(&e);
    for (size_t i = 0; i < s->n; i++) {
        const struct task *t = s->at[i];
        struct place p = policy->choose(data, &e, t);
        o.arrived[size_of(t)]++;
        if (p.host == NO_HOST) {
            if (verify)
                check_drop(&e, t);
            continue;
        }
        hold(&e.hosts[p.host], t, p.gpu);
        policy->placed(data, &e, p.host);
        o.accepted[size_of(t)]++;
        o.placed += task_gpu(t);
        unused += task_shares(t) ? 0 : (uint64_t)t->n * (DEVICE_MILLI - t->milli);
    }
    o.seconds = cpu_seconds() - begin;
    if (policy->work)
        policy->work(data, &o.pairs, &o.states);
    check_books(&e, &o, unused);
    policy->destroy(data);
    free(e.hosts);
    return o;
}

/* ---- output ---- */

static void print_sizes(const char *name, const uint64_t at[SIZES])
{
    printf(",\"%s\":{", name);
    for (int i = 0; i < SIZES; i++)
        printf("%s\"%s\":%" PRIu64, i ? "," : "", size_names[i], at[i]);
    putchar('}');
}

static void print_run(const struct trace *trace, const struct sequence *s, const char *policy,
                      const struct outcome *o)
{
    printf("\"policy\":\"%s\",\"placed_milli\":%" PRIu64 ",\"percent\":%.6f", policy, o->placed,
           100 * (double)o->placed / (double)trace->capacity);
    print_sizes("arrived", o->arrived);
    print_sizes("accepted", o->accepted);
    printf(",\"decisions\":%zu,\"seconds\":%.6f,\"pairs\":%" PRIu64 ",\"states\":%" PRIu64, s->n,
           o->seconds, o->pairs, o->states);
}

/* ---- all ---- */

static int run_all(const struct trace *trace, const struct options *options, const char *seeds,
                   char **policies, int n, struct err *err)
{
    uint64_t first, last;
    char text[64];
    const char *dash = strchr(seeds, '-');
    snprintf(text, sizeof text, "%.*s", dash ? (int)(dash - seeds) : 32, seeds);
    if (!scan_u64(text, 0, UINT64_MAX - 1, &first) ||
        !scan_u64(dash ? dash + 1 : text, first, UINT64_MAX - 1, &last))
        return err_set(err, ERR_INPUT, "seeds: \"%s\" is no range like 42-51", seeds);
    for (int k = 0; k < n; k++)
        if (!policy_find(policies[k]))
            return err_set(err, ERR_INPUT, "no policy is called %s", policies[k]);
    printf("{\"nodes\":%zu,\"capacity_milli\":%" PRIu64 ",\"tasks\":%zu,\"shapes\":%zu,\"runs\":[",
           trace->n_hosts, trace->capacity, trace->n_tasks, trace->n_shapes);
    for (uint64_t seed = first; seed <= last; seed++) {
        struct sequence s;
        sequence_init(&s, trace, seed);
        for (int k = 0; k < n; k++) {
            struct outcome o = play(trace, &s, policy_find(policies[k]), seed, options->verify);
            printf("%s\n{\"seed\":%" PRIu64 ",\"sum_milli\":%" PRIu64
                   ",\"tasks\":[\"%s\",\"%s\",\"%s\",\"%s\"],",
                   seed == first && k == 0 ? "" : ",", seed, s.sum, s.at[0]->name,
                   s.at[s.n > 1]->name, s.at[s.n > 2 ? 2 : 0]->name, s.at[s.n - 1]->name);
            print_run(trace, &s, policies[k], &o);
            putchar('}');
            fflush(stdout);
        }
        sequence_fini(&s);
    }
    puts("]}");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct opt table[] = {
        { .name = "verify",
          .type = OPT_FLAG,
          .offset = offsetof(struct options, verify),
          .help = "look at every drop" },
        { .name = "permute",
          .type = OPT_U64,
          .offset = offsetof(struct options, permute),
          .arg = "SEED",
          .help = "order of nodes" },
        OPT_END,
    };
    struct options options = { 0 };
    struct trace trace = { 0 };
    struct err err = { 0 };
    int n = argc - 1;
    int status = opt_parse(table, &options, &n, argv + 1, 0, &err);
    if (status == 0 && n < 4)
        status = err_set(&err, ERR_INPUT, "usage: openb_load NODES LIST FIRST-LAST POLICY...");
    if (status == 0)
        status = trace_read(&trace, argv[1], argv[2], &err);
    if (status == 0) {
        trace_permute(&trace, options.permute);
        status = run_all(&trace, &options, argv[3], argv + 4, n - 3, &err);
    }
    if (status < 0)
        fprintf(stderr, "%s\n", err.what);
    trace_fini(&trace);
    opt_fini(table, &options);
    return status < 0 ? err_exit_status(err.code) : 0;
}
