/* Asks in a child each few seconds. While no answer comes nothing is known of any device, and none
 * is given out. */
#include "main/gpu_watch.h"

#include "api/child.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/identity.h"
#include "gpu/ask.h"
#include "gpu/lines.h"
#include "node/gpu_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MS 5000u
#define ANSWER_MAX  (1u << 20)
#define WHY_MAX     240

struct gpu_watch {
    struct gpu_watch_config config;
    uv_timer_t timer;
    struct child *child;         /* NULL: none asks now */
    struct arena *arena, *older; /* of the report that the node has, and the one before */
    char (*why)[WHY_MAX];        /* by slot; "": given out */
};

static uint64_t interval_ms(void)
{
    const char *text = getenv("MUSTER_GPU_INTERVAL_MS");
    uint64_t ms = INTERVAL_MS;
    if (text && !scan_u64(text, 10, 3600000, &ms))
        ms = INTERVAL_MS;
    return ms;
}

static void set_why(struct gpu_watch *w, uint32_t slot, const char *why)
{
    if (strcmp(w->why[slot], why) == 0)
        return;
    snprintf(w->why[slot], WHY_MAX, "%s", why);
    if (*why)
        log_warn("gpu.closed", "why=\"%s\"", w->why[slot]);
    else
        log_info("gpu.open", "node=%s slot=%u", w->config.node->name, slot);
    ctl_device(w->config.ctl, w->config.node->name, slot, w->why[slot]);
}

/* Bytes that are in use by no task of ours. */
static uint64_t foreign_memory(const struct gpu_watch *w, const struct gpu_device *now,
                               uint32_t slot)
{
    struct generation of;
    uint64_t sum = 0;
    if (ctl_device_taken(w->config.ctl, w->config.node->name, slot) == 0)
        return now->memory_used;
    for (size_t i = 0; i < now->n_processes; i++)
        if (ctl_find_process(w->config.ctl, now->processes[i].pid, &of) != 1)
            sum += now->processes[i].memory;
    return sum;
}

static void put_processes(const struct gpu_device *now, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; i < now->n_processes && i < 4 && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%u", i ? ", " : " (process ",
                                 now->processes[i].pid);
    if (used > 0 && used < size)
        snprintf(out + used, size - used, ")");
}

static void judge(struct gpu_watch *w, const struct gpu_device *known, const struct gpu_device *now)
{
    char why[WHY_MAX] = "", size[FMT_MAX], processes[80];
    const char *node = w->config.node->name;
    uint64_t foreign = now ? foreign_memory(w, now, known->slot) : 0;
    if (!now || *now->error) {
        snprintf(why, sizeof why, "device %u of %s: %s", known->number, node,
                 now ? now->error : "the driver does not list it any more");
    } else if (gpu_lock_is_foreign(known->minor, w->config.socket)) {
        snprintf(why, sizeof why, "device %u of %s is held by a task of another server",
                 known->number, node);
    } else if (foreign > w->config.bound) {
        put_processes(now, processes, sizeof processes);
        snprintf(why, sizeof why, "device %u of %s: %s of its memory are in use outside muster%s",
                 known->number, node, fmt_bytes(size, foreign), processes);
    }
    set_why(w, known->slot, why);
}

static const struct gpu_device *find_same(const struct gpu_report *now,
                                          const struct gpu_device *known)
{
    for (size_t i = 0; i < now->n; i++)
        if (*known->uuid && *now->at[i].uuid ? strcmp(known->uuid, now->at[i].uuid) == 0
                                             : known->number == now->at[i].number)
            return &now->at[i];
    return NULL;
}

/* What changes of a device; what it is stays. */
static void take_over(struct gpu_device *known, const struct gpu_device *now)
{
    known->memory_used = now->memory_used;
    known->utilisation = now->utilisation;
    known->temperature = now->temperature;
    known->milliwatts = now->milliwatts;
    known->ecc_errors = now->ecc_errors;
    known->processes = now->processes;
    known->n_processes = now->n_processes;
    known->error = now->error;
}

static void close_all(struct gpu_watch *w, const char *error)
{
    const struct gpu_report *known = w->config.node->report;
    for (size_t i = 0; i < known->n; i++) {
        char why[WHY_MAX];
        if (!known->at[i].offered)
            continue;
        snprintf(why, sizeof why, "device %u of %s: %s", known->at[i].number, w->config.node->name,
                 error);
        set_why(w, known->at[i].slot, why);
    }
}

static void read_answer(struct gpu_watch *w, const struct child_end *end)
{
    static const struct gpu_device gone = { .error = "the driver does not list it any more" };
    struct gpu_report *known = w->config.node->report, now;
    struct arena *arena = arena_create();
    if (!end->good || gpu_lines_read(arena, end->text, &now) != 0 || *now.error) {
        close_all(w, !end->good ? "the driver does not answer" : now.error);
        arena_destroy(arena);
        return;
    }
    for (size_t i = 0; i < known->n; i++) {
        struct gpu_device *device = &known->at[i];
        const struct gpu_device *same = find_same(&now, device);
        if (device->offered)
            judge(w, device, same);
        take_over(device, same ? same : &gone);
    }
    arena_destroy(w->older);
    w->older = w->arena;
    w->arena = arena;
}

static void on_look(uv_timer_t *timer);

static void on_answer(void *arg, const struct child_end *end)
{
    struct gpu_watch *w = arg;
    w->child = NULL;
    read_answer(w, end);
    uv_timer_start(&w->timer, on_look, interval_ms(), 0);
}

static void on_look(uv_timer_t *timer)
{
    struct gpu_watch *w = timer->data;
    char name[] = GPU_ASK_NAME;
    char *args[] = { name, NULL };
    const struct child_line line = { .program = "/proc/self/exe",
                                     .args = args,
                                     .input = -1,
                                     .text_max = ANSWER_MAX,
                                     .limit_ms = gpu_ask_limit_ms() };
    struct err err;
    w->child = child_start(w->config.loop, &line, on_answer, w, &err);
    if (w->child)
        return;
    log_warn("gpus.unknown", "error=\"%s\"", err.what);
    uv_timer_start(&w->timer, on_look, interval_ms(), 0);
}

struct gpu_watch *gpu_watch_create(const struct gpu_watch_config *config)
{
    if (!config->node->report || config->node->gpus == 0)
        return NULL;
    struct gpu_watch *w = mem_new(sizeof *w);
    w->config = *config;
    w->why = mem_new(config->node->gpus * sizeof *w->why);
    uv_timer_init(config->loop, &w->timer);
    w->timer.data = w;
    for (size_t i = 0; i < config->node->report->n; i++)
        if (config->node->report->at[i].offered)
            judge(w, &config->node->report->at[i], &config->node->report->at[i]);
    uv_timer_start(&w->timer, on_look, interval_ms(), 0);
    return w;
}

static void on_closed(uv_handle_t *handle)
{
    struct gpu_watch *w = handle->data;
    arena_destroy(w->arena);
    arena_destroy(w->older);
    free(w->why);
    free(w);
}

void gpu_watch_destroy(struct gpu_watch *w)
{
    if (!w)
        return;
    child_drop(w->child);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}
