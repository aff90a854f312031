/* Jobs per second through the core with records on disk and nodes that are numbers: batches of
 * one-task jobs are submitted, and a batch counts when its answers and its allocations are
 * committed. No HTTP.
 *
 *   core_load DIRECTORY NODES JOBS BATCH
 *
 * prints {"jobs": ..., "started": ..., "seconds": ..., "cpu_seconds": ...}. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "sim_core.h"

#include <stdio.h>

static const char job[] = "{\"name\": \"job\", \"run\": \"python train.py\", \"resources\":"
                          " {\"cpu\": 8, \"memory\": \"32Gi\", \"gpu\": 1}}";

static struct sim_run on_run(void *arg, const struct launch *launch, const struct launch_task *task)
{
    (void)launch, (void)task;
    ++*(size_t *)arg;
    return (struct sim_run){ .start_ms = 3600000, .run_ms = 3600000 };
}

/* A plan may be put off until the next tick, which a server makes as soon as it is asked to. */
static void turn(struct sim_core *core)
{
    ctl_turn(core->ctl);
    ctl_tick(core->ctl);
}

static void load(struct sim_core *core, const size_t *started, uint64_t jobs, uint64_t batch)
{
    for (uint64_t i = 0; i < jobs; i += batch) {
        for (uint64_t k = i; k < jobs && k < i + batch; k++)
            sim_core_submit(core, "ada", NULL, job);
        while (core->answered < core->asked)
            turn(core);
    }
    for (int i = 0; i < 100000 && *started < jobs; i++)
        turn(core);
}

static int run(const char *dir, const uint64_t n[3])
{
    size_t started = 0;
    struct sim_core core;
    const struct sim_watch watch = { .run = on_run, .arg = &started };
    if (!sim_core_open(&core, dir, n[0], &watch, 0))
        return 1;
    uint64_t began = clock_mono_us();
    double cpu = sim_core_cpu();
    load(&core, &started, n[1], n[2]);
    double seconds = (double)(clock_mono_us() - began) / 1e6;
    printf("{\"jobs\": %zu, \"started\": %zu, \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
           core.answered - core.failed, started, seconds, sim_core_cpu() - cpu);
    sim_core_close(&core);
    return started == n[1] ? 0 : 1;
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
    mem_hold(64 << 20);
    return run(argv[1], n);
}
