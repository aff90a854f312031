/* Decisions of the scheduler on a large cluster, for bench/sched; prints one JSON document, a row a
 * line.
 *
 *   sched_load [ROW...]
 *
 * A row is a function and a line of the table at the end. */
#include "base/arena.h"
#include "base/dice.h"
#include "base/err.h"
#include "base/mem.h"
#include "sched/classify.h"
#include "sched/fit.h"
#include "sched/gang.h"
#include "sched/plan.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define GI     (UINT64_C(1) << 30)
#define MI     (UINT64_C(1) << 20)
#define NODES  10000u
#define GPUS   8u
#define LEVEL  700u    /* of a thousand devices are taken before measuring */
#define TASKS  200000u /* held at a time, at most */
#define ROUNDS 10000u
#define HALF   5000u
#define MOST   9900u

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* not what else runs on the machine */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* ---- what is printed ---- */

struct figure {
    const char *key, *what, *unit;
    double value;
    double least, most; /* 0: no aim */
};

static void print(const char *row, struct figure f)
{
    printf("{\"row\":\"%s\",\"key\":\"%s\",\"what\":\"%s\",\"unit\":\"%s\",\"value\":%.6g,"
           "\"least\":%.6g,\"most\":%.6g}\n",
           row, f.key, f.what, f.unit, f.value, f.least, f.most);
}

/* ---- clusters and jobs ---- */

static struct cluster *racks(uint32_t nodes)
{
    struct cluster *c = cluster_create(15000, 39999, 15000);
    struct arena *a = arena_create();
    for (uint32_t i = 0; i < nodes; i++) {
        struct node_spec s = { .name = arena_printf(a, "n%05u", i),
                               .cpu_milli = 128000,
                               .memory = 1024 * GI,
                               .gpus = GPUS,
                               .gpu_type = "H100" };
        pairs_set(&s.labels, a, "zone", arena_printf(a, "z%u", i / 512));
        pairs_set(&s.labels, a, "rack", arena_printf(a, "r%u", i / 32));
        pairs_set(&s.labels, a, "hostname", s.name);
        cluster_put(c, &s);
    }
    const char *levels[] = { "zone", "rack" };
    if (cluster_set_levels(c, &(struct words){ .at = levels, .n = 2 }, NULL) < 0)
        BUG("racks of the benchmark in two zones");
    arena_destroy(a);
    return c;
}

struct ask { /* of one task: cpu and gpu in milli, memory in Mi */
    uint32_t cpu, memory, gpu, weight;
};
struct mixture {
    const char *name;
    const struct ask *at;
    size_t n;
    uint32_t weight;
};

static const struct ask whole[] = {
    { 4000, 32768, 1000, 30 },  { 8000, 65536, 1000, 15 },  { 12000, 98304, 1000, 5 },
    { 16000, 65536, 1000, 5 },  { 8000, 65536, 2000, 10 },  { 16000, 131072, 2000, 8 },
    { 24000, 196608, 2000, 2 }, { 32000, 131072, 2000, 1 }, { 16000, 131072, 4000, 8 },
    { 32000, 262144, 4000, 4 }, { 48000, 393216, 4000, 2 }, { 64000, 262144, 4000, 1 },
    { 64000, 524288, 8000, 5 }, { 96000, 786432, 8000, 2 }, { 128000, 1048576, 8000, 1 },
    { 24000, 196608, 3000, 1 },
};
/* The commonest of the tasks of the openb trace, and how often of 8,152. */
static const struct ask openb[] = {
    { 3152, 5600, 810, 1047 },   { 11300, 49152, 1000, 857 }, { 11400, 48128, 1000, 534 },
    { 3152, 5600, 1000, 470 },   { 11908, 47104, 470, 388 },  { 12500, 57344, 0, 364 },
    { 8000, 30517, 470, 360 },   { 32000, 49152, 0, 284 },    { 18708, 64512, 1000, 255 },
    { 11908, 47104, 650, 237 },  { 9810, 41560, 1000, 195 },  { 8000, 30517, 0, 163 },
    { 12000, 24576, 1000, 158 }, { 15700, 58368, 1000, 158 }, { 11908, 47104, 1000, 153 },
    { 15400, 51200, 0, 120 },    { 4000, 22888, 320, 111 },   { 16000, 32768, 1000, 108 },
    { 8000, 16384, 1000, 104 },  { 4000, 24576, 1000, 104 },  { 12000, 16384, 1000, 99 },
    { 16500, 51200, 0, 95 },     { 14200, 58368, 1000, 93 },  { 4000, 30517, 230, 84 },
    { 24200, 93184, 1000, 84 },  { 4000, 15258, 320, 78 },    { 3152, 5600, 590, 75 },
    { 8000, 30517, 320, 72 },    { 4152, 10600, 550, 72 },    { 11400, 77824, 1000, 65 },
    { 8000, 32768, 1000, 55 },   { 4000, 15258, 160, 53 },    { 6000, 6144, 460, 51 },
    { 16000, 131072, 2000, 10 }, { 32000, 262144, 4000, 12 }, { 88000, 327680, 8000, 44 },
};

static const struct ask *draw(const struct mixture *m, struct dice *dice)
{
    uint32_t at = dice_below(dice, m->weight);
    size_t i = 0;
    while (at >= m->at[i].weight)
        at -= m->at[i++].weight;
    return &m->at[i];
}

static struct mixture mixture_of(const char *name, const struct ask *at, size_t n)
{
    struct mixture m = { .name = name, .at = at, .n = n };
    for (size_t i = 0; i < n; i++)
        m.weight += at[i].weight;
    return m;
}

/* A job of `tasks` such tasks. */
static void job_of(struct job_spec *job, struct role *role, const struct ask *ask, uint32_t tasks)
{
    *role = (struct role){
        .name = "worker",
        .replicas = tasks,
        .resources = { .cpu_milli = ask->cpu, .memory = ask->memory * MI, .gpu_milli = ask->gpu }
    };
    *job = (struct job_spec){ .name = "job", .roles = role, .n_roles = 1 };
}

/* ---- one task after the other, on a cluster that stays as full ---- */

struct placed {
    const struct ask *ask;
    uint32_t node, gpus[GPUS];
};

struct load {
    struct cluster *cluster;
    struct arena *arena;
    const struct mixture *mixture;
    struct placed *held;
    uint32_t n;
    struct dice dice;
    uint64_t gpu;    /* milli taken */
    struct mix *mix; /* what arrives, learnt; or NULL */
    struct potential *potential;
};

static void give(struct load *l, struct placed *h)
{
    struct job_spec job;
    struct role role;
    struct task_request w;
    job_of(&job, &role, h->ask, 1);
    task_request_init(&w, &job, 0);
    struct task_place p = { .gpus = h->gpus, .n_gpus = w.devices ? w.devices : w.share ? 1 : 0 };
    node_drop(l->cluster, h->node, &w, &p);
    l->gpu -= h->ask->gpu;
    *h = l->held[--l->n];
}

/* Decides and takes; false: it fits nowhere. */
static bool place(struct load *l, const struct ask *ask)
{
    struct job_spec job;
    struct role role;
    struct placement placement;
    job_of(&job, &role, ask, 1);
    if (l->mix) {
        struct shape shape;
        cluster_shape(l->cluster, &job, 0, &shape);
        mix_add(l->mix, &shape, 1);
        potential_learn(l->potential, l->mix);
    }
    arena_reset(l->arena);
    placement_init(&placement, l->arena, l->cluster, &job);
    if (gang_place(&placement) != GANG_PLACED || l->n == TASKS)
        return false;
    struct placed *h = &l->held[l->n++];
    *h = (struct placed){ .ask = ask, .node = placement.seats[0].node };
    for (uint32_t i = 0; i < placement.places[0].n_gpus; i++)
        h->gpus[i] = placement.places[0].gpus[i];
    l->gpu += ask->gpu;
    return true;
}

static void make_room(struct load *l)
{
    while (l->gpu > UINT64_C(1) * NODES * GPUS * LEVEL)
        give(l, &l->held[dice_below(&l->dice, l->n)]);
}

/* Until the level is reached, and on until what ran first is gone. */
static struct load loaded(const struct mixture *m, bool learns)
{
    struct load l = { .cluster = racks(NODES),
                      .arena = arena_create(),
                      .mixture = m,
                      .held = mem_new(sizeof(struct placed) * TASKS),
                      .dice = { 1 } };
    if (learns) {
        l.mix = mix_create();
        l.potential = potential_create();
        cluster_set_potential(l.cluster, l.potential);
    }
    while (l.gpu < UINT64_C(1) * NODES * GPUS * LEVEL)
        if (!place(&l, draw(m, &l.dice)) && dice_below(&l.dice, 2)) /* no cpu left for it */
            give(&l, &l.held[dice_below(&l.dice, l.n)]);
    for (uint32_t i = 0, n = l.n / 4; i < n; i++) {
        place(&l, draw(m, &l.dice));
        make_room(&l);
    }
    return l;
}

static void unload(struct load *l)
{
    cluster_destroy(l->cluster);
    mix_destroy(l->mix);
    potential_destroy(l->potential);
    arena_destroy(l->arena);
    free(l->held);
}

static uint32_t states(const struct cluster *c)
{
    const struct node_classes *s = node_classes_of(c);
    uint32_t n = 0;
    for (uint32_t i = node_classes_next(s, POSITION_NONE, 0); i != POSITION_NONE;
         i = node_classes_next(s, i, 0))
        n++;
    return n;
}

/* What a look at every node costs for the same: the fullest that fits. */
static double naive_ns(struct load *l, uint32_t rounds)
{
    uint64_t begin = now_ns(), found = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        struct job_spec job;
        struct role role;
        struct placement placement;
        uint32_t best = UINT32_MAX;
        uint64_t least = UINT64_MAX;
        job_of(&job, &role, draw(l->mixture, &l->dice), 1);
        arena_reset(l->arena);
        placement_init(&placement, l->arena, l->cluster, &job);
        for (uint32_t node = 0; node < NODES; node++) {
            const struct node *n = &l->cluster->nodes[node];
            if (1000 * GPUS - n->gpu_milli < least &&
                fit_units(&placement, placement.groups, node, 1)) {
                best = node;
                least = 1000 * GPUS - n->gpu_milli;
            }
        }
        found += best != UINT32_MAX;
    }
    return (double)(now_ns() - begin) / (double)(found ? rounds : 1);
}

static void decisions(const char *row, const struct mixture *m, bool learns, double aim)
{
    struct load l = loaded(m, learns);
    uint64_t *took = mem_new(sizeof *took * ROUNDS), total = 0;
    uint32_t placed = 0, live = states(l.cluster);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const struct ask *ask = draw(m, &l.dice);
        uint64_t begin = now_ns();
        placed += place(&l, ask);
        took[i] = now_ns() - begin;
        total += took[i];
        make_room(&l);
    }
    qsort(took, ROUNDS, sizeof *took, compare);
    double each = (double)total / ROUNDS, naive = naive_ns(&l, 500);
    print(row, (struct figure){ "rate", "placements, one task each", "/s", 1e9 / each, aim, 0 });
    print(row, (struct figure){ "p50_us", "  half of them within", "us", (double)took[HALF] / 1e3,
                                0, 0 });
    print(row, (struct figure){ "p99_us", "  99 % within", "us", (double)took[MOST] / 1e3, 0, 0 });
    print(row, (struct figure){ "placed", "  of 10,000 found a place", "", placed, 0, 0 });
    print(row, (struct figure){ "states", "  distinct states of the nodes", "", live, 0, 0 });
    print(row,
          (struct figure){ "naive_us", "  a look at every node instead", "us", naive / 1e3, 0, 0 });
    print(row, (struct figure){ "ratio", "  times that", "", naive / each, 0, 0 });
    free(took);
    unload(&l);
}

static void row_whole(const char *row)
{
    struct mixture m = mixture_of("whole", whole, ARRAY_LEN(whole));
    decisions(row, &m, false, 100000);
}

static void row_openb(const char *row)
{
    struct mixture m = mixture_of("openb", openb, ARRAY_LEN(openb));
    decisions(row, &m, false, 20000);
}

static void row_priced(const char *row)
{
    struct mixture m = mixture_of("openb", openb, ARRAY_LEN(openb));
    decisions(row, &m, true, 20000);
}

/* ---- passes: a copy of the cluster, the plan, and the core's own taking ---- */

static void row_pass(const char *row)
{
    enum { JOBS = 1000, PASSES = 10, MIDDLE = 5 };
    struct mixture m = mixture_of("whole", whole, ARRAY_LEN(whole));
    struct load l = loaded(&m, false);
    struct sched_job *jobs = mem_new(sizeof *jobs * JOBS);
    struct job_spec *specs = mem_new(sizeof *specs * JOBS);
    struct role *roles = mem_new(sizeof *roles * JOBS);
    uint64_t took[PASSES], admitted = 0;
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        for (uint32_t i = 0; i < JOBS; i++) {
            job_of(&specs[i], &roles[i], draw(&m, &l.dice), 1);
            jobs[i] = (struct sched_job){ .id = i + 1, .spec = &specs[i] };
        }
        struct sched_snapshot s = { .cluster = l.cluster, .jobs = jobs, .n_jobs = JOBS };
        struct arena *arena = arena_create();
        uint64_t begin = now_ns();
        struct plan plan = sched_plan(&s, 1000, arena);
        for (size_t i = 0; i < plan.n && plan.at[i].kind == PLAN_ADMIT; i++, admitted++)
            cluster_take(l.cluster, &specs[plan.at[i].job - 1], plan.at[i].tasks);
        took[pass] = now_ns() - begin;
        for (size_t i = 0; i < plan.n && plan.at[i].kind == PLAN_ADMIT; i++)
            cluster_give(l.cluster, &specs[plan.at[i].job - 1], plan.at[i].tasks);
        arena_destroy(arena);
    }
    qsort(took, PASSES, sizeof *took, compare);
    print(row, (struct figure){ "pass_ms", "a pass that admits 1,000 jobs, and taking their places",
                                "ms", (double)took[MIDDLE] / 1e6, 0, 0 });
    print(row,
          (struct figure){ "each_us", "  a job", "us", (double)took[MIDDLE] / 1e3 / JOBS, 0, 10 });
    print(row, (struct figure){ "admitted", "  admitted of 10,000", "", (double)admitted, 0, 0 });
    free(jobs);
    free(specs);
    free(roles);
    unload(&l);
}

/* ---- one large gang ---- */

static double gang_ms(struct cluster *cluster, const struct job_spec *job, bool *placed)
{
    struct arena *arena = arena_create();
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < 5; i++) {
        struct placement placement;
        uint64_t begin = now_ns();
        placement_init(&placement, arena, cluster, job);
        *placed = gang_place(&placement) == GANG_PLACED;
        uint64_t took = now_ns() - begin;
        best = took < best ? took : best;
        if (*placed)
            fit_back(&placement, 0);
        node_classes_of(cluster);
        arena_reset(arena);
    }
    arena_destroy(arena);
    return (double)best / 1e6;
}

static void row_gang(const char *row)
{
    static const struct ask eight = { 64000, 262144, 8000, 1 }, one = { 8000, 32768, 1000, 1 };
    struct cluster *c = racks(NODES);
    struct job_spec job;
    struct role role;
    bool placed;
    job_of(&job, &role, &eight, 1024);
    double took = gang_ms(c, &job, &placed);
    print(row, (struct figure){ "gang_ms", "a gang of 8,192 GPUs: 1,024 tasks of 8", "ms", took, 0,
                                10 });
    print(row, (struct figure){ "gang_placed", "  placed", "", placed, 1, 0 });
    job_of(&job, &role, &one, 8192);
    took = gang_ms(c, &job, &placed);
    print(row, (struct figure){ "ones_ms", "  8,192 tasks of 1", "ms", took, 0, 10 });
    print(row, (struct figure){ "ones_placed", "  placed", "", placed, 1, 0 });
    cluster_destroy(c);
    struct mixture m = mixture_of("whole", whole, ARRAY_LEN(whole));
    struct load l = loaded(&m, false);
    job_of(&job, &role, &eight, 256);
    took = gang_ms(l.cluster, &job, &placed);
    print(row,
          (struct figure){ "busy_ms", "  256 tasks of 8 where 70 % is taken", "ms", took, 0, 10 });
    print(row, (struct figure){ "busy_placed", "  placed", "", placed, 0, 0 });
    unload(&l);
}

/* ---- copies and memory ---- */

static size_t used(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void row_copy(const char *row)
{
    struct mixture m = mixture_of("openb", openb, ARRAY_LEN(openb));
    struct load l = loaded(&m, false);
    uint64_t best = UINT64_MAX, empty = UINT64_MAX;
    size_t before = used(), copied = 0;
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t begin = now_ns();
        struct cluster *copy = cluster_clone(l.cluster);
        uint64_t took = now_ns() - begin;
        copied = used() - before;
        cluster_destroy(copy);
        best = took < best ? took : best;
        begin = now_ns();
        copy = cluster_clone_empty(l.cluster);
        node_classes_of(copy);
        took = now_ns() - begin;
        empty = took < empty ? took : empty;
        cluster_destroy(copy);
    }
    print(row, (struct figure){ "clone_ms", "a copy of 10,000 nodes for a pass", "ms",
                                (double)best / 1e6, 0, 10 });
    print(row,
          (struct figure){ "clone_mib", "  its memory", "MiB", (double)copied / (double)MI, 0, 0 });
    print(row, (struct figure){ "empty_ms", "  an empty one, to see what can ever run", "ms",
                                (double)empty / 1e6, 0, 10 });
    unload(&l);
    before = used();
    struct cluster *c = racks(NODES);
    node_classes_of(c);
    print(row, (struct figure){ "cluster_mib", "memory of 10,000 nodes", "MiB",
                                (double)(used() - before) / (double)MI, 0, 0 });
    cluster_destroy(c);
}

static const struct {
    const char *name;
    void (*measure)(const char *row);
} rows[] = {
    { "whole", row_whole }, { "openb", row_openb }, { "priced", row_priced },
    { "pass", row_pass },   { "gang", row_gang },   { "copy", row_copy },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool asked = argc == 1;
        for (int k = 1; k < argc; k++)
            asked = asked || strcmp(argv[k], rows[i].name) == 0;
        if (asked)
            rows[i].measure(rows[i].name);
    }
    return 0;
}
