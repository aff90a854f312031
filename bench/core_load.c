/* Jobs per second through the core with records on disk and nodes that are numbers: batches of
 * one-task jobs are submitted, and a batch counts when its answers and its allocations are
 * committed. No HTTP.
 *
 *   core_load DIRECTORY NODES JOBS BATCH
 *
 * prints {"jobs": ..., "seconds": ..., "cpu_seconds": ..., "commits": ...}. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/ctl.h"
#include "engine/sim/sim.h"
#include "main/wire.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const char job[] = "{\"name\": \"job\", \"run\": \"python train.py\", \"resources\":"
                          " {\"cpu\": 8, \"memory\": \"32Gi\", \"gpu\": 1}}";

struct counts {
    size_t answered, failed, started;
};

static uint64_t now(void *arg)
{
    (void)arg;
    return clock_wall_ms();
}

static void on_answer(void *arg, const struct ctl_answer *answer)
{
    struct counts *counts = arg;
    counts->answered++;
    counts->failed += answer->err != NULL;
    if (answer->err)
        fprintf(stderr, "%s\n", answer->err->what);
}

static struct sim_run on_run(void *arg, const struct launch *launch, const struct launch_task *task)
{
    struct counts *counts = arg;
    (void)launch, (void)task;
    counts->started++;
    return (struct sim_run){ .start_ms = 3600000, .run_ms = 3600000 };
}

static struct node_spec *make_nodes(struct arena *arena, size_t n)
{
    struct node_spec *nodes = ARENA_ARRAY(arena, n, struct node_spec);
    for (size_t i = 0; i < n; i++) {
        const char *name = arena_printf(arena, "n%zu", i + 1);
        nodes[i] = (struct node_spec){ .name = name,
                                       .host = name,
                                       .address = "127.0.0.1",
                                       .cpu_milli = 96000,
                                       .memory = 768ull << 30,
                                       .gpus = 8,
                                       .gpu_type = "A100" };
    }
    return nodes;
}

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void load(struct ctl *ctl, struct counts *counts, uint64_t jobs, uint64_t batch)
{
    const struct ctl_submit ask = { .owner = "ada", .text = job, .len = sizeof job - 1 };
    for (uint64_t i = 0; i < jobs; i += batch) {
        for (uint64_t k = i; k < jobs && k < i + batch; k++)
            ctl_submit(ctl, &ask, on_answer, counts);
        while (counts->answered < i + batch && counts->answered < jobs)
            ctl_turn(ctl);
    }
    for (int i = 0; i < 100000 && counts->started < jobs; i++)
        ctl_turn(ctl);
}

static int run(const char *dir, const uint64_t n[3])
{
    struct arena *arena = arena_create();
    struct counts counts = { 0 };
    struct err err = { 0 };
    struct sim_watch watch = { .run = on_run, .arg = &counts };
    struct engine *engine = sim_create(&watch, clock_wall_ms());
    struct store *store = store_open(arena_printf(arena, "%s/db", dir), &err);
    struct words queues = { 0 };
    struct ctl_config config = { .store = store,
                                 .engine = engine,
                                 .dialects = wire_dialects(),
                                 .state_dir = dir,
                                 .runs_dir = dir,
                                 .fs_uri = "file:///nowhere",
                                 .queues = &queues,
                                 .nodes = make_nodes(arena, n[0]),
                                 .n_nodes = n[0],
                                 .now = now };
    struct ctl *ctl = store ? ctl_create(&config, &err) : NULL;
    if (!ctl || ctl_recover(ctl, &err)) {
        fprintf(stderr, "%s\n", err.what);
        return 1;
    }
    uint64_t began = clock_mono_us();
    double cpu = cpu_seconds();
    load(ctl, &counts, n[1], n[2]);
    double seconds = (double)(clock_mono_us() - began) / 1e6;
    printf("{\"jobs\": %zu, \"started\": %zu, \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
           counts.answered - counts.failed, counts.started, seconds, cpu_seconds() - cpu);
    ctl_destroy(ctl);
    engine->ops->destroy(engine);
    store_close(store);
    arena_destroy(arena);
    return counts.started == n[1] ? 0 : 1;
}

int main(int argc, char **argv)
{
    uint64_t n[3];
    for (int i = 0; i < 3; i++)
        if (argc != 5 || !scan_u64(argv[i + 2], 1, 100000000, &n[i])) {
            fputs("core_load DIRECTORY NODES JOBS BATCH\n", stderr);
            return 2;
        }
    log_set_level(LOG_WARN);
    return run(argv[1], n);
}
