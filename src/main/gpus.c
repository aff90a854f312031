/* Places of tasks are slots. A driver that fails at the start, or does not list a device any more,
 * would leave those that hold it without one, and their devices to others. */
#include "main/gpus.h"

#include "base/log.h"
#include "gpu/ask.h"
#include "gpu/device_slots.h"
#include "job/state.h"

#include <stdlib.h>

static bool are_held(struct store *store)
{
    struct arena *arena = arena_create();
    struct job_row *rows;
    size_t n = 0;
    bool held = false;
    if (store_live_jobs(store, arena, &rows, &n, NULL))
        n = 0; /* the core will say so */
    for (size_t i = 0; i < n; i++)
        held = held || (job_state_holds(rows[i].state) && rows[i].gpu_milli > 0);
    arena_destroy(arena);
    return held;
}

static void log_trouble(const struct node_spec *node)
{
    const struct gpu_report *report = node->report;
    if (*report->error)
        log_warn("gpus.unknown", "node=%s error=\"%s\"", node->name, report->error);
    for (size_t i = 0; i < report->n; i++)
        if (*report->at[i].error)
            log_warn("gpu.lost", "node=%s number=%u error=\"%s\"", node->name, report->at[i].number,
                     report->at[i].error);
}

/* now, and how it is known from before. */
static struct gpu_report *join(struct arena *a, struct gpu_report *known, struct gpu_report *now)
{
    if (*now->error)
        gpu_slots_fail(known, now->error);
    else
        gpu_slots_follow(a, known, now);
    gpu_bar(known, getenv("CUDA_VISIBLE_DEVICES"));
    return known;
}

static void say_slow(uint64_t waits_ms)
{
    log_warn("gpus.slow",
             "note=\"the driver has not answered yet; the server starts without it %llu s after it "
             "was asked\"",
             (unsigned long long)waits_ms / 1000);
}

void gpus_find(struct arena *a, struct store *store, const char *path, struct node_spec *node)
{
    struct gpu_report *now = ARENA_NEW(a, struct gpu_report);
    struct gpu_report *known = ARENA_NEW(a, struct gpu_report);
    gpu_slots_read(a, path, known);
    gpu_ask_at_start(a, &(struct gpu_ask_start){ .known = known->n > 0, .slow = say_slow }, now);
    bool counts = known->n > 0 && (*now->error || are_held(store));
    node->report = counts ? join(a, known, now) : now;
    node->gpus = gpu_offer(a, node->report, getenv("CUDA_VISIBLE_DEVICES"));
    node->gpu_type = gpu_models(node->report, a);
    log_trouble(node);
    if (node->gpus > 0)
        gpus_remember(path, node->report);
}

void gpus_remember(const char *path, const struct gpu_report *report)
{
    struct err err;
    if (gpu_slots_write(path, report, &err) < 0)
        log_warn("gpus.known", "file=%s error=\"%s\"", path, err.what);
}
