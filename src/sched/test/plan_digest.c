/* A number for all plans of random clusters, so that builds by several compilers can be compared:
 *
 *   plan_digest [STEPS]
 *
 * Small yards, every plan judged, and a large cluster with racks, kinds of devices and a learnt
 * mix. One line for each, and the number of plans. */
#include "sched/mix.h"
#include "sched/plan.h"
#include "sched/potential.h"
#include "sched/test/digest.h"
#include "sched/test/game.h"
#include "sched/test/world.h"

#include "base/dice.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

#define STEPS   2000u
#define NODES   96u
#define PASSES  40u
#define ARRIVE  12u /* jobs a pass */
#define WAITING 200u
#define RUNNING 400u

struct waiting {
    struct job_spec *spec;
    uint64_t id, promised_ms;
};
struct running {
    struct job_spec *spec;
    struct plan_entry entry;
    uint64_t ends_ms;
};
struct site {
    struct world world;
    struct mix *mix;
    struct potential *potential;
    struct waiting waiting[WAITING];
    struct running running[RUNNING];
    size_t n_waiting, n_running;
    struct dice dice;
    uint64_t now_ms, next_id;
};

static void build(struct site *s)
{
    static const char *const kinds[] = { "A", "B", "H" };
    static const char *levels[] = { "zone", "rack" };
    struct arena *a = s->world.arena;
    for (uint32_t i = 0; i < NODES; i++) {
        struct node_spec n = { .name = arena_printf(a, "n%u", i),
                               .address = "127.0.0.1",
                               .host = arena_printf(a, "h%u", i),
                               .cpu_milli = 64000,
                               .memory = 512 * GI,
                               .gpus = i % 7 ? 8 : 4,
                               .gpu_type = kinds[i / 8 % 3] };
        pairs_set(&n.labels, a, "zone", arena_printf(a, "z%u", i / 32));
        pairs_set(&n.labels, a, "rack", arena_printf(a, "r%u", i / 8));
        cluster_put(s->world.cluster, &n);
    }
    if (cluster_set_levels(s->world.cluster, &(struct words){ .at = levels, .n = 2 }, NULL) < 0)
        BUG("racks in two zones");
    s->mix = mix_create();
    s->potential = potential_create();
    cluster_set_potential(s->world.cluster, s->potential);
}

static struct job_spec *random_job(struct site *s)
{
    static const uint32_t milli[] = { 0, 250, 470, 810, 1000, 1000, 2000, 4000, 8000 };
    static const char *types[] = { "A", "B", "H" };
    struct role r = { .name = "w",
                      .replicas = dice_below(&s->dice, 3) ? 1 : 1 + dice_below(&s->dice, 12) };
    r.min = dice_below(&s->dice, 4) ? r.replicas : 1 + dice_below(&s->dice, r.replicas);
    r.resources.gpu_milli = milli[dice_below(&s->dice, ARRAY_LEN(milli))];
    r.resources.cpu_milli = 500 * (1 + (uint64_t)dice_below(&s->dice, 12));
    r.resources.memory = GI * (1 + (uint64_t)dice_below(&s->dice, 32));
    if (dice_below(&s->dice, 5) == 0)
        r.resources.gpu_types =
            (struct words){ .at = &types[dice_below(&s->dice, ARRAY_LEN(types))], .n = 1 };
    struct job_spec *job = world_job(s->world.arena, &r, 1);
    job->priority = 1 + dice_below(&s->dice, 9);
    job->preemptible = dice_below(&s->dice, 3) == 0;
    job->limits.run_time_ms.has = dice_below(&s->dice, 6) != 0;
    job->limits.run_time_ms.value = 1000 * (5 + (uint64_t)dice_below(&s->dice, 300));
    if (r.replicas > 1 && dice_below(&s->dice, 3) == 0) {
        job->placing.within = dice_below(&s->dice, 2) ? "rack" : "zone";
        job->placing.within_required = dice_below(&s->dice, 2);
    }
    return job;
}

static void arrive(struct site *s)
{
    for (uint32_t i = 0; i < ARRIVE && s->n_waiting < WAITING; i++) {
        struct job_spec *job = random_job(s);
        struct wait_reason reason = { 0 };
        if (sched_possible(s->world.cluster, job, s->world.arena, &reason))
            continue;
        s->waiting[s->n_waiting++] =
            (struct waiting){ .spec = job, .id = s->now_ms << 20 | ++s->next_id };
        struct shape shape;
        if (cluster_shape(s->world.cluster, job, 0, &shape))
            mix_add(s->mix, &shape, job->roles[0].replicas);
    }
    potential_learn(s->potential, s->mix);
}

static void end(struct site *s, size_t i)
{
    world_give(s->world.cluster, s->running[i].spec, &s->running[i].entry);
    s->running[i] = s->running[--s->n_running];
}

static size_t find(const struct site *s, uint64_t id)
{
    for (size_t i = 0; i < s->n_waiting; i++)
        if (s->waiting[i].id == id)
            return i;
    BUG("a plan for a job that does not wait");
}

static void carry_out(struct site *s, const struct plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_entry *e = &p->at[i];
        if (e->kind == PLAN_RESERVE)
            s->waiting[find(s, e->job)].promised_ms = e->at_ms;
        if (e->kind != PLAN_ADMIT || s->n_running == RUNNING)
            continue;
        size_t at = find(s, e->job);
        struct running *r = &s->running[s->n_running++];
        *r = (struct running){ .spec = s->waiting[at].spec, .entry = *e };
        r->entry.job = s->waiting[at].id;
        r->ends_ms = s->now_ms +
                     (r->spec->limits.run_time_ms.has ? r->spec->limits.run_time_ms.value : 90000);
        if (!world_take(s->world.cluster, r->spec, e))
            BUG("the cluster refuses a plan");
        s->waiting[at] = s->waiting[--s->n_waiting];
    }
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; p->at[i].kind == PLAN_EVICT && k < s->n_running; k++)
            if (s->running[k].entry.job == p->at[i].job)
                end(s, k--);
}

static uint64_t pass(struct site *s, uint64_t digest)
{
    struct arena *a = s->world.arena;
    struct sched_job *jobs = ARENA_ARRAY(a, WAITING, struct sched_job);
    struct sched_running *running = ARENA_ARRAY(a, RUNNING, struct sched_running);
    for (size_t i = 0; i < s->n_waiting; i++)
        jobs[i] = (struct sched_job){ .id = s->waiting[i].id,
                                      .spec = s->waiting[i].spec,
                                      .promised_ms = s->waiting[i].promised_ms };
    for (size_t i = 0; i < s->n_running; i++) {
        const struct running *r = &s->running[i];
        running[i] = (struct sched_running){ .id = r->entry.job,
                                             .held = held_places_of(r->spec, r->entry.tasks,
                                                                    r->entry.n_tasks),
                                             .demand = vector_of_job(r->spec),
                                             .started_ms = 1,
                                             .ends_ms = r->ends_ms,
                                             .preemptible = r->spec->preemptible,
                                             .priority = (uint8_t)r->spec->priority };
    }
    struct sched_snapshot snapshot = { .cluster = s->world.cluster,
                                       .jobs = jobs,
                                       .n_jobs = s->n_waiting,
                                       .running = running,
                                       .n_running = s->n_running };
    struct plan p = sched_plan(&snapshot, s->now_ms, a);
    carry_out(s, &p);
    return digest_plan(digest, &p);
}

static uint64_t large_cluster(void)
{
    struct site *s = mem_new(sizeof *s);
    uint64_t digest = 0;
    s->world = world_create(NULL, 0);
    s->now_ms = 1000000;
    build(s);
    for (uint32_t i = 0; i < PASSES; i++) {
        arrive(s);
        digest = pass(s, digest);
        s->now_ms += 5000;
        for (size_t k = 0; k < s->n_running; k++)
            if (s->running[k].ends_ms <= s->now_ms)
                end(s, k--);
    }
    printf("%u passes of %u nodes, %zu run, %zu wait: %016" PRIx64 "\n", PASSES, NODES,
           s->n_running, s->n_waiting, digest);
    world_destroy(&s->world);
    potential_destroy(s->potential);
    mix_destroy(s->mix);
    free(s);
    return digest;
}

int main(int argc, char **argv)
{
    uint64_t want = argc > 1 ? strtoull(argv[1], NULL, 10) : STEPS, steps = 0, digest = 0, seed = 1;
    for (; steps < want; seed++)
        steps += game_play(seed, &digest);
    printf("%" PRIu64 " steps in %" PRIu64 " yards: %016" PRIx64 "\n", steps, seed - 1, digest);
    return large_cluster() == 0; /* nothing at all was planned */
}
