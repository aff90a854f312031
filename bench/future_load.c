/* What the scheduler's look ahead costs, on NODES nodes of 8 gpus that JOBS running jobs fill:
 *
 *   earliest   when a job fits, for jobs that wait for little and for much of the cluster
 *   reserved   the same when so many promises have been made already
 *   allows     may a job start beside those promises
 *   evict      whom to take from
 *
 *   future_load [NODES JOBS PROMISES]     prints one JSON document, microseconds of processor time
 */
#include "base/dice.h"
#include "base/mem.h"
#include "sched/evict.h"
#include "sched/future.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct load {
    struct arena *arena;
    struct cluster *cluster;
    struct future_release *releases;
    struct evict_candidate *candidates;
    uint32_t nodes, jobs, promises;
    struct dice dice;
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct job_spec *job_of(struct load *l, uint32_t replicas, uint64_t gpus)
{
    struct job_spec *job = ARENA_NEW(l->arena, struct job_spec);
    job->name = "job";
    job->n_roles = 1;
    job->roles = ARENA_NEW(l->arena, struct role);
    job->roles[0] = (struct role){ .name = "w", .replicas = replicas, .min = replicas };
    job->roles[0].resources.gpu_milli = 1000 * gpus;
    job->roles[0].resources.cpu_milli = 4000 * gpus;
    return job;
}

/* A worker on top: two roles that have to find room beside each other. */
static struct job_spec *two_roles(struct load *l, uint32_t replicas)
{
    struct job_spec *job = job_of(l, replicas, 8);
    struct role *roles = ARENA_ARRAY(l->arena, 2, struct role);
    roles[0] = job->roles[0];
    roles[1] = job_of(l, 4, 2)->roles[0];
    roles[1].name = "ps";
    job->roles = roles;
    job->n_roles = 2;
    return job;
}

/* Running job i on devices of its own: an equal part of all of them, on one node. */
static void run_job(struct load *l, uint32_t i)
{
    uint32_t per_node = (l->jobs + l->nodes - 1) / l->nodes, gpus = 8 / per_node;
    struct job_spec *job = job_of(l, 1, gpus ? gpus : 1);
    struct task_place *p = ARENA_NEW(l->arena, struct task_place);
    p->node = arena_printf(l->arena, "n%u", i / per_node);
    p->n_gpus = gpus;
    p->gpus = ARENA_ARRAY(l->arena, 8, uint32_t);
    for (uint32_t k = 0; k < gpus; k++)
        p->gpus[k] = i % per_node * gpus + k;
    if (!cluster_take(l->cluster, job, p))
        abort();
    l->releases[i] = (struct future_release){ .job = i + 1, .held = held_places_of(job, p, 1) };
    l->releases[i].at_ms = 1000 + dice_below(&l->dice, 86400000);
    l->candidates[i] = (struct evict_candidate){ .job = i + 1, .held = l->releases[i].held };
    l->candidates[i].class = (enum evict_class)dice_below(&l->dice, EVICT_CLASSES);
    l->candidates[i].started_ms = dice_below(&l->dice, 1000);
}

static void make(struct load *l)
{
    l->arena = arena_create();
    l->cluster = cluster_create(15000, 15999, 15000);
    l->releases = ARENA_ARRAY(l->arena, l->jobs, struct future_release);
    l->candidates = ARENA_ARRAY(l->arena, l->jobs, struct evict_candidate);
    for (uint32_t i = 0; i < l->nodes; i++) {
        struct node_spec spec = { .gpus = 8, .cpu_milli = 96000, .memory = UINT64_C(1) << 40 };
        spec.name = arena_printf(l->arena, "n%u", i);
        cluster_put(l->cluster, &spec);
    }
    for (uint32_t i = 0; i < l->jobs; i++)
        run_job(l, i);
}

static struct future *future_of(struct load *l)
{
    return future_create(l->cluster, 1000, l->releases, l->jobs, l->arena);
}

static void ask(struct load *l, struct future *f, const char *name, const struct job_spec *job)
{
    struct future_ask question = { .job = 1, .spec = job, .lasts_ms = 3600000 };
    struct promise p;
    struct future_work before = future_work(f), after;
    double begin = now_us();
    bool fits = future_earliest(f, &question, &p);
    double took = now_us() - begin;
    after = future_work(f);
    printf(
        "  \"%s\": {\"us\": %.0f, \"fits\": %d, \"ends\": %u, \"clones\": %llu, \"counts\": %llu, "
        "\"moves\": %llu, \"tries\": %llu},\n",
        name, took, fits, fits ? p.n_ends : 0, (unsigned long long)(after.clones - before.clones),
        (unsigned long long)(after.counts - before.counts),
        (unsigned long long)(after.moves - before.moves),
        (unsigned long long)(after.tries - before.tries));
    (void)l;
}

static void ask_all(struct load *l, struct future *f, const char *when)
{
    static const uint32_t gangs[] = { 1, 16, 128 };
    for (size_t i = 0; i < ARRAY_LEN(gangs); i++)
        ask(l, f, arena_printf(l->arena, "%s %u nodes", when, gangs[i]), job_of(l, gangs[i], 8));
    ask(l, f, arena_printf(l->arena, "%s 16 nodes and 4 x 2 gpus", when), two_roles(l, 16));
    ask(l, f, arena_printf(l->arena, "%s never", when), job_of(l, l->nodes + 1, 8));
}

static void promise_many(struct load *l, struct future *f)
{
    double begin = now_us();
    for (uint32_t i = 0; i < l->promises; i++) {
        struct future_ask question = { .job = l->jobs + i, .lasts_ms = 3600000 };
        struct promise p;
        question.spec = job_of(l, 1 + dice_below(&l->dice, 16), 8);
        if (!future_earliest(f, &question, &p) || !future_reserve(f, &p))
            abort();
    }
    printf("  \"ask and reserve, each of %u\": {\"us\": %.0f},\n", l->promises,
           (now_us() - begin) / l->promises);
}

/* The places of running jobs stand for those of jobs that would start: they are at nodes at random.
 */
static void allow_many(struct load *l, struct future *f)
{
    uint32_t yes = 0, n = 10000;
    double begin = now_us();
    for (uint32_t i = 0; i < n; i++) {
        struct future_release start = l->releases[dice_below(&l->dice, l->jobs)];
        start.at_ms = 1000 + dice_below(&l->dice, 86400000);
        yes += future_allows(f, &start, 1);
    }
    printf("  \"allows\": {\"us\": %.2f, \"yes\": %u, \"of\": %u},\n", (now_us() - begin) / n, yes,
           n);
}

static void evict(struct load *l, const char *name, const struct job_spec *job, bool last)
{
    struct evict_ask question = { .cluster = l->cluster, .spec = job, .now_ms = 100000 };
    question.candidates = l->candidates;
    question.n = l->jobs;
    struct evict_choice choice;
    double begin = now_us();
    bool found = evict_choose(&question, l->arena, &choice);
    printf("  \"evict for %s\": {\"us\": %.0f, \"found\": %d, \"victims\": %zu}%s\n", name,
           now_us() - begin, found, choice.n, last ? "" : ",");
}

int main(int argc, char **argv)
{
    struct load l = { .nodes = 10000, .jobs = 10000, .promises = 16 };
    if (argc == 4) {
        l.nodes = (uint32_t)strtoul(argv[1], NULL, 10);
        l.jobs = (uint32_t)strtoul(argv[2], NULL, 10);
        l.promises = (uint32_t)strtoul(argv[3], NULL, 10);
    }
    make(&l);
    struct cluster *once = cluster_clone(l.cluster); /* what a cluster keeps of itself is made */
    cluster_destroy(once);
    struct future *f = future_of(&l);
    printf("{\n");
    ask(&l, f, "first question", job_of(&l, 4, 8));
    ask_all(&l, f, "earliest");
    promise_many(&l, f);
    ask_all(&l, f, "reserved");
    allow_many(&l, f);
    future_destroy(f);
    evict(&l, "1 gpu", job_of(&l, 1, 1), false);
    evict(&l, "1 node", job_of(&l, 1, 8), false);
    evict(&l, "16 nodes", job_of(&l, 16, 8), false);
    evict(&l, "16 nodes and 4 x 2 gpus", two_roles(&l, 16), true);
    printf("}\n");
    cluster_destroy(l.cluster);
    arena_destroy(l.arena);
    return 0;
}
