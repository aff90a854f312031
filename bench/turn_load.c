/* What the end of one job costs in the core when many wait: NODES nodes of 8 devices that one-node
 * jobs fill, WAITING jobs of SHAPES shapes by USERS users (each in one of QUEUES queues, with ten
 * shapes of their own). From the fact that one ended to the end of the turn: its records, the plan,
 * what starts in its place, and that on disk.
 *
 *   turn_load DIRECTORY NODES WAITING SHAPES USERS QUEUES
 *
 * prints one JSON document: milliseconds of processor time and of the clock, of the turn and of the
 * plans in it, and the memory of the process. */
#include "base/clock.h"
#include "base/dice.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/core.h"
#include "sim_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEGAN_MS UINT64_C(1800000000000)
#define HOUR_MS  UINT64_C(3600000)
#define APART_MS 10000u /* one ends after the other */
#define TURNS    61u
#define SHAPES   10u /* of a user */
#define BATCH    1000u

struct load {
    struct sim_core core;
    uint32_t runs;
    struct dice dice;
    uint32_t nodes, waiting, shapes, users, queues;
};
struct figures {
    double cpu[TURNS], wall[TURNS], plan[TURNS];
};

/* Those that fill the nodes end one by one; what starts later runs on. */
static struct sim_run on_run(void *arg, const struct launch *launch, const struct launch_task *task)
{
    struct load *l = arg;
    (void)launch, (void)task;
    uint64_t end = l->runs < l->nodes ? HOUR_MS + UINT64_C(1) * APART_MS * l->runs : 1000 * HOUR_MS;
    l->runs++;
    return (struct sim_run){ .start_ms = 1, .run_ms = end };
}

static void submit(struct load *l, uint32_t user, uint32_t tasks, uint32_t gpu, uint32_t cpu,
                   uint32_t minutes)
{
    struct arena *arena = arena_create();
    sim_core_submit(&l->core, arena_printf(arena, "user%u", user), NULL,
                    arena_printf(arena,
                                 "{\"name\":\"job\",\"queue\":\"q%u\",\"limits\":{\"run_time\":"
                                 "\"%um\"},\"roles\":{\"w\":{\"run\":\"python train.py\","
                                 "\"replicas\":%u,\"resources\":{\"gpu\":%u,\"cpu\":%u}}}}",
                                 user % l->queues, minutes, tasks, gpu, cpu));
    arena_destroy(arena);
    if (l->core.asked % BATCH == 0)
        ctl_turn(l->core.ctl);
}

static void declare(struct load *l)
{
    for (uint32_t i = 0; i < l->queues; i++) {
        char text[200];
        snprintf(text, sizeof text, "kind: quota\nname: q%u\nguaranteed: %u%%\n", i,
                 100 / l->queues);
        sim_core_declare(&l->core, text);
    }
    ctl_turn(l->core.ctl);
}

/* The first shapes are small, so that what ends makes room for one or a few. */
static void wait(struct load *l)
{
    static const uint32_t gpus[] = { 8, 4, 2, 1, 6, 3 }, tasks[] = { 1, 2, 4, 8, 16, 64 };
    for (uint32_t i = 0; i < l->waiting; i++) {
        uint32_t user = dice_below(&l->dice, l->users);
        uint32_t shape = (user * 7 + dice_below(&l->dice, SHAPES)) % l->shapes;
        submit(l, user, tasks[shape / 6 % 6], gpus[shape % 6], gpus[shape % 6] * (1 + shape % 9),
               60 + shape);
    }
    ctl_turn(l->core.ctl);
}

static void fill(struct load *l)
{
    for (uint32_t i = 0; i < l->nodes; i++)
        submit(l, i % l->users, 1, 8, 32, 60 * 24 * 3 + i % 1000);
    ctl_turn(l->core.ctl);
}

static double resident_mib(void)
{
    char text[200] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    const char *pages = n ? strchr(text, ' ') : NULL; /* the second number */
    if (f)
        fclose(f);
    return pages ? (double)strtoul(pages, NULL, 10) * (double)sysconf(_SC_PAGESIZE) / (1 << 20) : 0;
}

static void move_to(struct load *l, uint64_t ms)
{
    l->core.now_ms = ms;
    sim_advance(l->core.engine, ms);
}

static void measure(struct load *l, struct figures *f)
{
    const struct counters *counters = &l->core.ctl->counters;
    for (uint32_t i = 0; i < TURNS; i++) {
        uint64_t end = BEGAN_MS + 1 + HOUR_MS + UINT64_C(1) * APART_MS * i;
        move_to(l, end - 5000);
        ctl_tick(l->core.ctl);
        ctl_turn(l->core.ctl);
        uint64_t plans = counters->plan_us_sum;
        uint64_t began = clock_mono_us();
        double cpu = sim_core_cpu();
        move_to(l, end);
        ctl_turn(l->core.ctl);
        f->cpu[i] = 1e3 * (sim_core_cpu() - cpu);
        f->wall[i] = (double)(clock_mono_us() - began) / 1e3;
        f->plan[i] = (double)(counters->plan_us_sum - plans) / 1e3;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, double *at)
{
    qsort(at, TURNS, sizeof *at, compare);
    printf("\"%s_p50\": %.2f, \"%s_p95\": %.2f, ", name, at[TURNS / 2], name, at[TURNS * 95 / 100]);
}

int main(int argc, char **argv)
{
    struct load l = { .dice = { 1 } };
    struct sim_watch watch = { .run = on_run, .arg = &l };
    struct figures figures;
    uint64_t n[5];
    for (int i = 0; i < 5; i++)
        if (argc != 7 || !scan_u64(argv[i + 2], 1, 10000000, &n[i])) {
            fputs("turn_load DIRECTORY NODES WAITING SHAPES USERS QUEUES\n", stderr);
            return 2;
        }
    l.nodes = (uint32_t)n[0], l.waiting = (uint32_t)n[1], l.shapes = (uint32_t)n[2];
    l.users = (uint32_t)n[3], l.queues = (uint32_t)n[4];
    log_set_level(LOG_WARN);
    mem_hold(64 << 20);
    if (!sim_core_open(&l.core, argv[1], l.nodes, &watch, BEGAN_MS))
        return 1;
    double cpu = sim_core_cpu();
    declare(&l);
    fill(&l);
    wait(&l);
    double filled = sim_core_cpu() - cpu;
    uint32_t before = l.runs;
    measure(&l, &figures);
    printf("{");
    print("cpu_ms", figures.cpu);
    print("wall_ms", figures.wall);
    print("plan_ms", figures.plan);
    printf("\"started\": %u, \"fill_cpu_s\": %.1f, \"memory_mib\": %.1f}\n", l.runs - before,
           filled, resident_mib());
    sim_core_close(&l.core);
    return 0;
}
