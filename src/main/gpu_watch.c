/* Asks in a child each few seconds, and at once when a launch waits for it. While no answer comes
 * nothing is known of any device, and none is given out. A device keeps its slot for good: it is
 * closed while it fails, and what is found later gets a slot behind the others. */
#include "main/gpu_watch.h"

#include "access/job_identity.h"
#include "api/child.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/account.h"
#include "ctl/node_work.h"
#include "gpu/ask.h"
#include "gpu/device_slots.h"
#include "gpu/lines.h"
#include "inventory/closed_devices.h"
#include "main/gpus.h"
#include "node/gpu_lock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MS 5000u
#define ANSWER_MAX  (1u << 20)
#define WHY_MAX     240
#define LATE_MS     1000u /* after which a killed child should be gone */

/* Drivers free what a task had some time after its last process has ended: after so many looks, so
 * far apart, it is not the task's. */
#define FREEING_LOOKS 16
#define FREEING_MS    250u

/* Why a device is not given out. */
enum device_state { OPEN, FAILS, OF_ANOTHER_SERVER, USED_OUTSIDE };

struct verdict {
    enum device_state closed;
    char why[WHY_MAX]; /* "": given out */
    uint32_t subject;  /* as struct device_trouble has them */
    bool is;
    bool was_held;    /* by a task of whatever server, when the driver was asked */
    uint64_t left;    /* ctl_device_left() of then */
    unsigned freeing; /* looks in a row that found memory of what may have been a task's */
};

struct gpu_watch {
    struct gpu_watch_config config;
    uv_timer_t timer;
    struct child *child;         /* NULL: none asks now */
    struct arena *arena, *older; /* of the report that the node has, and the one before */
    struct arena *own;           /* of what was found later than at the start */
    struct verdict *verdicts;    /* by slot */
    uint32_t n;
    char error[WHY_MAX]; /* of the driver as a whole */
    bool wanted;         /* a launch waits for a look that has not begun */
    bool soon;           /* the next one comes soon: the last did not tell */
};

static uint64_t interval_ms(void)
{
    const char *text = getenv("MUSTER_GPU_INTERVAL_MS");
    uint64_t ms = INTERVAL_MS;
    if (text && !scan_u64(text, 10, 3600000, &ms))
        ms = INTERVAL_MS;
    return ms;
}

/* How much others use changes all the time: that is news only when it begins and when it ends. */
static void set_verdict(struct gpu_watch *w, uint32_t slot, const struct verdict *now)
{
    const char *node = w->config.node->name;
    struct verdict *before = &w->verdicts[slot];
    if (strcmp(before->why, now->why) == 0)
        return;
    if (now->closed != OPEN && (before->closed != now->closed || now->closed == FAILS))
        log_warn("gpu.closed", "why=\"%s\"", now->why);
    if (now->closed == OPEN)
        log_info("gpu.open", "node=%s slot=%u", node, slot);
    else if (before->closed != OPEN && before->closed != now->closed)
        ctl_device(w->config.ctl, node, slot, NULL);
    before->closed = now->closed;
    memcpy(before->why, now->why, sizeof before->why);
    const struct device_trouble trouble = { now->why, .subject = now->subject, .is = now->is };
    ctl_device(w->config.ctl, node, slot, *now->why ? &trouble : NULL);
}

/* What no task of ours uses of a device: bytes, and the first processes. */
struct outside_use {
    uint64_t memory;
    char processes[80]; /* " (process 1, 2)", "": none is known */
};

static void add_process(struct outside_use *out, uint32_t pid)
{
    size_t n = strlen(out->processes);
    if (n + 16 < sizeof out->processes)
        snprintf(out->processes + n, sizeof out->processes - n, "%s%u", n ? ", " : " (process ",
                 pid);
}

/* Since the driver was asked. */
static bool has_ended(uint32_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static bool is_ours(const struct gpu_watch *w, uint32_t pid)
{
    struct generation of;
    return find_job_of_process(ctl_access(w->config.ctl), pid, &of) == 1;
}

/* By what the core knows, or by its processes: of a task that may have been started before this
 * server the core knows nothing until its agent has come. */
static bool is_used_by_tasks(const struct gpu_watch *w, const struct gpu_device *device)
{
    bool used = ctl_device_in_use(w->config.ctl, w->config.node->name, device->slot);
    for (size_t i = 0; !used && i < device->n_processes; i++)
        used = is_ours(w, device->processes[i].pid);
    return used;
}

static struct outside_use look_outside(const struct gpu_watch *w, const struct gpu_device *now)
{
    struct outside_use out = { .memory = now->figures[GPU_MEMORY_USED].value };
    bool in_use = is_used_by_tasks(w, now);
    out.memory = in_use ? 0 : out.memory;
    for (size_t i = 0; i < now->n_processes; i++) {
        if (in_use && (is_ours(w, now->processes[i].pid) || has_ended(now->processes[i].pid)))
            continue;
        out.memory += in_use ? now->processes[i].memory : 0;
        add_process(&out, now->processes[i].pid);
    }
    size_t n = strlen(out.processes);
    if (n)
        snprintf(out.processes + n, sizeof out.processes - n, ")");
    return out;
}

static bool is_of_another_server(const struct gpu_watch *w, const struct gpu_device *device)
{
    const struct gpu_part part = gpu_part_of(device);
    return gpu_lock_is_foreign(device->minor, &part, w->config.socket);
}

/* What is in use of a device whose task has ended may be that task's still. */
static bool may_be_freeing(struct gpu_watch *w, const struct gpu_device *device)
{
    struct verdict *before = &w->verdicts[device->slot];
    uint64_t left = ctl_device_left(w->config.ctl, w->config.node->name, device->slot);
    bool was_task = left ? before->closed != USED_OUTSIDE : before->closed == OF_ANOTHER_SERVER;
    return was_task && ++before->freeing < FREEING_LOOKS;
}

/* Was it held when the driver was asked, and is not now? Then that look tells nothing of its use.
 */
static bool has_been_left(const struct gpu_watch *w, const struct gpu_device *device)
{
    return w->verdicts[device->slot].was_held &&
           !ctl_device_in_use(w->config.ctl, w->config.node->name, device->slot);
}

/* Nothing of the task that was there last is left. */
static void tell_seen(struct gpu_watch *w, const struct gpu_device *device)
{
    struct verdict *v = &w->verdicts[device->slot];
    v->freeing = 0;
    if (v->left && v->left == ctl_device_left(w->config.ctl, w->config.node->name, device->slot))
        ctl_device_seen(w->config.ctl, w->config.node->name, device->slot);
}

/* "device 0 of NODE: TEXT", or "device 0 of NODE is TEXT". */
static void say(struct verdict *now, const char *node, const struct gpu_device *device,
                const char *text)
{
    char label[GPU_LABEL_MAX];
    int n = snprintf(now->why, WHY_MAX, "device %s of %s", gpu_label(device, label), node);
    now->subject = (uint32_t)(n < WHY_MAX / 2 ? n : WHY_MAX / 2);
    snprintf(now->why + now->subject, WHY_MAX - now->subject, "%s%s", now->is ? " is " : ": ",
             text);
}

static void judge(struct gpu_watch *w, const struct gpu_device *device)
{
    struct verdict now = { .closed = OPEN };
    char size[FMT_MAX], used[FMT_MAX + 160];
    const char *node = w->config.node->name;
    const struct outside_use outside = look_outside(w, device);
    if (*device->error || device->divided) {
        now.closed = FAILS;
        say(&now, node, device,
            *device->error ? device->error : "it is in MIG mode, its instances are given out");
    } else if (device->barred) {
        now.closed = FAILS;
        say(&now, node, device, "CUDA_VISIBLE_DEVICES of the server leaves it out");
    } else if (is_of_another_server(w, device)) {
        now.closed = OF_ANOTHER_SERVER;
        now.is = true;
        say(&now, node, device, "held by a task of another server");
    } else if (has_been_left(w, device) ||
               (outside.memory > w->config.bound && may_be_freeing(w, device))) {
        w->soon = true;
        return;
    } else if (outside.memory > w->config.bound) {
        now.closed = USED_OUTSIDE;
        snprintf(used, sizeof used, "%s of its memory are in use outside muster%s",
                 fmt_bytes(size, outside.memory), outside.processes);
        say(&now, node, device, used);
    }
    set_verdict(w, device->slot, &now);
    if (now.closed == OPEN)
        tell_seen(w, device);
}

static void judge_all(struct gpu_watch *w)
{
    const struct gpu_report *known = w->config.node->report;
    for (size_t i = 0; i < known->n; i++)
        if (known->at[i].offered)
            judge(w, &known->at[i]);
}

/* What the node offers follows from what is known now. */
static void offer(struct gpu_watch *w)
{
    struct node_spec *node = w->config.node;
    uint32_t n = gpu_offer(w->own, node->report, getenv("CUDA_VISIBLE_DEVICES"));
    const char *models = gpu_models(node->report, w->own);
    if (n > w->n) {
        w->verdicts = mem_resize(w->verdicts, n * sizeof *w->verdicts);
        memset(w->verdicts + w->n, 0, (n - w->n) * sizeof *w->verdicts);
        w->n = n;
    }
    if (n != node->gpus || strcmp(models, node->gpu_type) != 0)
        log_info("gpus.found", "node=%s gpus=%u models=\"%s\"", node->name, n, models);
    node->gpus = n;
    node->gpu_type = models;
    if (n > 0)
        gpus_remember(w->config.known, node->report);
    if (n > 0)
        ctl_devices(w->config.ctl, node->name, node->report);
}

static void close_all(struct gpu_watch *w, const char *error)
{
    struct gpu_report *known = w->config.node->report;
    snprintf(w->error, sizeof w->error, "%s", error);
    gpu_slots_fail(known, w->error);
    for (size_t i = 0; i < known->n; i++) {
        struct verdict now = { .closed = FAILS };
        if (!known->at[i].offered)
            continue;
        say(&now, w->config.node->name, &known->at[i], error);
        set_verdict(w, known->at[i].slot, &now);
    }
}

static void read_answer(struct gpu_watch *w, const struct child_end *end)
{
    struct gpu_report *known = w->config.node->report, now;
    struct arena *arena = arena_create();
    if (!end->good || gpu_lines_read(arena, end->text, &now) != 0 || *now.error) {
        close_all(w, !end->good ? "the driver does not answer" : now.error);
        arena_destroy(arena);
        return;
    }
    if (gpu_slots_follow(w->own, known, &now))
        offer(w);
    judge_all(w);
    arena_destroy(w->older);
    w->older = w->arena;
    w->arena = arena;
}

static void on_look(uv_timer_t *timer);

static void look_later(struct gpu_watch *w)
{
    uint64_t often = interval_ms(), soon = often < FREEING_MS ? often : FREEING_MS;
    uv_timer_start(&w->timer, on_look, w->wanted ? 0 : w->soon ? soon : often, 0);
}

static void on_answer(void *arg, const struct child_end *end)
{
    struct gpu_watch *w = arg;
    w->child = NULL;
    read_answer(w, end);
    look_later(w);
}

void gpu_watch_look(struct gpu_watch *w)
{
    if (!w)
        return;
    w->wanted = true;
    if (!w->child && !w->soon)
        look_later(w);
}

/* What is known of each device as a look begins. */
static void note_holders(struct gpu_watch *w)
{
    const struct gpu_report *known = w->config.node->report;
    const char *node = w->config.node->name;
    w->soon = false;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct gpu_device *device = gpu_in_slot(known, i);
        w->verdicts[i].was_held = ctl_device_in_use(w->config.ctl, node, i) ||
                                  (device && is_of_another_server(w, device));
        w->verdicts[i].left = ctl_device_left(w->config.ctl, node, i);
    }
}

/* One that hangs in the kernel does not even end when it is killed: no other is started then. */
static void on_late(uv_timer_t *timer)
{
    close_all(timer->data, "the driver does not answer");
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
    w->wanted = false;
    note_holders(w);
    w->child = child_start(w->config.loop, &line, on_answer, w, &err);
    if (w->child) {
        uv_timer_start(&w->timer, on_late, gpu_ask_limit_ms() + LATE_MS, 0);
        return;
    }
    log_warn("gpus.unknown", "error=\"%s\"", err.what);
    close_all(w, "the driver could not be asked");
    look_later(w);
}

struct gpu_watch *gpu_watch_create(const struct gpu_watch_config *config)
{
    const struct gpu_report *known = config->node->report;
    if (!known || (known->n == 0 && !*known->error))
        return NULL;
    struct gpu_watch *w = mem_new(sizeof *w);
    w->config = *config;
    w->n = config->node->gpus;
    w->verdicts = mem_new((w->n + 1) * sizeof *w->verdicts);
    w->own = arena_create();
    uv_timer_init(config->loop, &w->timer);
    w->timer.data = w;
    note_holders(w); /* nobody has left a device since the report was made */
    if (*known->error)
        close_all(w, known->error);
    else
        judge_all(w);
    look_later(w);
    return w;
}

static void on_closed(uv_handle_t *handle)
{
    struct gpu_watch *w = handle->data;
    arena_destroy(w->arena);
    arena_destroy(w->older);
    arena_destroy(w->own);
    free(w->verdicts);
    free(w);
}

void gpu_watch_destroy(struct gpu_watch *w)
{
    if (!w)
        return;
    child_drop(w->child);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}
