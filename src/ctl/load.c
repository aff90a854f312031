/* Rows to memory: a live job exactly as its rows say, its places taken again. The only way back
 * after a restart and after a failed commit. */
#include "ctl/allocations.h"
#include "ctl/charges.h"
#include "ctl/core.h"
#include "ctl/silence_work.h"
#include "depend/array.h"
#include "documents/board.h"
#include "inventory/left_devices.h"
#include "job/launch.h"
#include "live/avoid.h"
#include "live/deaths.h"
#include "live/row_json.h"
#include "live/silence.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/record.h"

#include <string.h>

#define RELAUNCH_MS 200ull /* what is found dead is reported first */

/* What a question to the records came to: 1, 0, or -1 with err, which is logged. */
static bool found_job(int found, uint64_t id, const struct err *err)
{
    if (found < 0)
        log_error("store.read", "job=%llu: %s", (unsigned long long)id, err->what);
    return found == 1;
}

int core_row(struct ctl *ctl, struct arena *arena, uint64_t id, struct job_row *row)
{
    struct err err;
    return found_job(store_get_job(ctl->config.store, arena, id, row, &err), id, &err) ? 0 : -1;
}

int core_lean_row(struct ctl *ctl, struct arena *arena, uint64_t id, struct job_row *row)
{
    struct err err;
    int found = store_get_lean_job(ctl->config.store, arena, id, row, &err);
    return found_job(found, id, &err) ? 0 : -1;
}

int core_site(struct ctl *ctl, struct arena *arena, uint64_t id, const char **site)
{
    struct err err;
    int found = store_get_site(ctl->config.store, arena, id, site, &err);
    return found_job(found, id, &err) ? 0 : -1;
}

void load_spec(struct live_job *job, const struct text_node *tree)
{
    job->spec = job_of_tree(job->arena, tree);
    if (job->spec)
        allocations_apply(job);
}

const struct job_spec *core_spec(struct ctl *ctl, struct live_job *job)
{
    if (job->spec)
        return job->spec;
    const struct live_array *array = array_find(ctl->arrays, job->row.array);
    struct arena *scratch = arena_create();
    struct job_row row;
    struct err err;
    const char *text;
    if (array) { /* its own: nodes it avoids are not avoided by the others */
        job->spec = ARENA_NEW(job->arena, struct job_spec);
        *job->spec = *array->spec;
    } else if (job->row.array) {
        if (core_row(ctl, scratch, job->row.id, &row) == 0)
            job->spec = job_of_text(job->arena, row.spec);
    } else if (found_job(store_get_spec(ctl->config.store, scratch, job->row.id, &text, &err),
                         job->row.id, &err)) {
        job->spec = job_of_text(job->arena, text);
    }
    if (job->spec && job_task_count(job->spec) != job->row.tasks)
        job->spec = NULL;
    if (job->spec) {
        avoid_apply(job);
        allocations_apply(job);
    }
    if (job->spec) /* it may have been changed since */
        job->spec->priority = job->row.priority;
    if (!job->spec)
        log_error("job.unreadable", "job=%llu", (unsigned long long)job->row.number);
    arena_destroy(scratch);
    return job->spec;
}

static void read_tasks(struct ctl *ctl, struct live_job *job, struct arena *scratch)
{
    struct task_row *rows;
    size_t n = 0;
    if (store_tasks(ctl->config.store, scratch, job->row.id, &rows, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++) {
        uint32_t flat = live_flat(job, rows[i].ref);
        if (flat == UINT32_MAX)
            continue;
        struct live_task *task = &job->tasks[flat];
        task->state = rows[i].state;
        task->attempt = rows[i].attempt;
        row_json_read_task(job->arena, scratch, rows[i].live, task);
    }
}

/* Does the task hold its place? While it lives, while it waits for another attempt there, while its
 * end is held. */
static bool holds_place(const struct live_job *job, const struct live_task *task)
{
    if (!job_state_holds(job->row.state) || task->phase == PHASE_UNPLACED)
        return false;
    if (live_again(task) || live_attempt(task))
        return true;
    return task_state_final(task->state) && !task->gave &&
           (job->spec->limits.hold_ms > 0 ||
            (job->spec->health.debug_hold && task->state == TASK_FAILED));
}

static void read_attempts(struct ctl *ctl, struct live_job *job, struct arena *scratch)
{
    struct attempt_row *rows;
    size_t n = 0;
    if (store_attempts(ctl->config.store, scratch, job->row.id, &rows, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct attempt_row *row = &rows[i];
        uint32_t flat = live_flat(job, row->ref);
        if (flat == UINT32_MAX || row->generation != job->row.generation)
            continue;
        struct live_task *task = &job->tasks[flat];
        if (row->attempt != task->attempt)
            continue;
        task->attempt_state = row->state;
        task->placed_ms = row->placed_ms;
        task->started_ms = row->started_ms;
        task->began_ms = task->began_ms ? task->began_ms : row->started_ms;
        task->pid = row->pid;
        task->log_end = row->log_end;
        task->place.attempt = row->attempt;
        task->place.node = arena_strdup(job->places, row->node);
        row_json_read_place(job->places, scratch, row->place, task);
        job->launch_seq = task->seq > job->launch_seq ? task->seq : job->launch_seq;
        if (live_attempt(task))
            task->phase = row->state == ATTEMPT_STARTING ? PHASE_PLACED : PHASE_RUNNING;
        if (holds_place(job, task)) {
            live_set_taken(job, task, cluster_take_again(ctl->cluster, job->spec, &task->place));
            if (!task->taken)
                log_warn("load.place", "job=%llu node=%s: no longer fits there",
                         (unsigned long long)job->row.number, task->place.node);
        }
    }
}

/* Of a job that holds places, tasks without an attempt in this generation have none yet: rows are
 * written for those alone that were given one. */
static void derive_waiting(struct live_job *job)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        if (task->attempt_state != ATTEMPT_NONE)
            continue;
        task->state = TASK_WAITING;
        task->used = (struct retry_counts){ 0 };
        task->phase = PHASE_UNPLACED;
        task->turned = task->gave = task->unstartable = false;
        task->began_ms = task->not_before_ms = 0;
    }
}

/* An agent is known to the engine when it has joined, or when its directory is there. */
static bool was_launched(struct ctl *ctl, const struct live_job *job, const struct agent_row *row)
{
    if (row->state != AGENT_EXPECTED || row->last_seq > 0)
        return true;
    AUTO_FREE char *dir =
        launch_dir(ctl->config.runs_dir, job->row.number, job->row.generation, row->node);
    int rc = taped_replays(ctl) || file_is_dir(dir) ? 0 : -1;
    return taped_outside(ctl, OUTSIDE_LAUNCHED, rc, NULL) == 0;
}

static void add_agent(struct ctl *ctl, struct live_job *job, const struct agent_row *row)
{
    if (row->generation != job->row.generation)
        return;
    struct live_agent *agent = live_add_agent(job, row->node);
    agent->state = row->state;
    agent->launch_seq = row->launch_seq;
    agent->last_seq = row->last_seq;
    memcpy(agent->token_hash, row->token_hash, sizeof agent->token_hash);
    agent->launched = was_launched(ctl, job, row);
    if (agent->state == AGENT_SILENT) {
        agent->silent_ms = core_now(ctl);
        job->silent++;
        core_look_at_silence(ctl, job, agent);
    }
    for (uint32_t flat = 0; agent->launched && flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        if (live_untold(task) && strcmp(task->place.node, row->node) == 0)
            task->phase = PHASE_RELAUNCH;
    }
    job->launch_seq = row->launch_seq > job->launch_seq ? row->launch_seq : job->launch_seq;
}

static void read_agents(struct ctl *ctl, struct live_job *job, struct arena *scratch)
{
    struct agent_row *rows;
    size_t n = 0;
    if (store_agents(ctl->config.store, scratch, job->row.id, &rows, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++)
        add_agent(ctl, job, &rows[i]);
}

static void set_deadlines(struct ctl *ctl, const struct live_job *job)
{
    const struct job_spec *spec = job->spec;
    core_deadline(ctl, job, job->notes.pending_until_ms);
    core_deadline(ctl, job, job->notes.hold_until_ms);
    core_deadline(ctl, job, job->row.not_before_ms);
    core_deadline(ctl, job, job->notes.rest_ms);
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++)
        if (live_again(&job->tasks[flat]))
            core_deadline(ctl, job, job->tasks[flat].not_before_ms);
    if (spec && spec->limits.run_time_ms.has && job->notes.began_ms)
        core_deadline(ctl, job, job->notes.began_ms + spec->limits.run_time_ms.value);
}

/* With its places taken. */
static struct live_job *load_job(struct ctl *ctl, const struct job_row *row)
{
    struct arena *scratch = arena_create();
    struct live_job *job = live_add(ctl->live, row);
    row_json_read_job(job->arena, scratch, row->live, &job->notes);
    if (!job->notes.began_ms)
        job->notes.began_ms = row->started_ms;
    array_joined(ctl->arrays, row);
    if (row->generation > 0 && core_spec(ctl, job)) {
        live_make_tasks(job);
        read_tasks(ctl, job, scratch);
        read_attempts(ctl, job, scratch);
        if (job_state_holds(row->state))
            derive_waiting(job);
        job->cut_off = job->notes.placing;
        read_agents(ctl, job, scratch);
        board_load(ctl->config.store, job);
        live_count_tasks(job);
    }
    deaths_load(job);
    set_deadlines(ctl, job);
    live_set_active(ctl->live, job, job_state_holds(row->state) && job->tasks);
    core_wants(ctl, job);
    if (row->state == JOB_QUEUED)
        event_queued(ctl, job);
    arena_destroy(scratch);
    return job;
}

/* One that comes back from its rows is entered again: twice in the list, it would be given its
 * places twice. */
static void want_nothing(struct ctl *ctl, const struct live_job *job)
{
    size_t i = 0;
    while (job->wanting && i < ctl->wanting.n && ctl->wanting.at[i] != job->row.id)
        i++;
    if (job->wanting && i < ctl->wanting.n)
        vec_remove(&ctl->wanting, i);
}

void load_forget(struct ctl *ctl, struct live_job *job)
{
    want_nothing(ctl, job);
    launch_drop(ctl, job);
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++)
        if (job->tasks[flat].taken)
            cluster_give(ctl->cluster, job->spec, &job->tasks[flat].place);
    array_left(ctl->arrays, &job->row);
    charges_release(ctl, job);
    live_remove(ctl->live, job);
}

/* ---- at the start ---- */

/* What was launched before is launched again a little later: an agent that died meanwhile is
 * reported by then. */
static void relaunch_later(struct ctl *ctl, struct live_job *job)
{
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        const struct live_agent *agent = live_due(task) ? live_agent(job, task->place.node) : NULL;
        if (!agent || !agent->launched)
            continue;
        live_set_phase(job, task, PHASE_RELAUNCH_LATER);
        ctl->relaunch_at = core_now(ctl) + RELAUNCH_MS;
    }
}

int load_jobs(struct ctl *ctl, struct err *err)
{
    struct arena *arena = arena_create();
    struct job_row *rows;
    size_t n = 0;
    int rc = store_live_jobs(ctl->config.store, arena, &rows, &n, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (rows[i].members) {
            array_open(ctl->arrays, &rows[i]);
            continue;
        }
        struct live_job *job = load_job(ctl, &rows[i]);
        relaunch_later(ctl, job);
        for (size_t k = 0; k < job->agents.n; k++)
            job->agents.at[k].unheard = true;
        device_leave_loaded(ctl->left_devices, job);
        charges_resume(ctl, job);
        if (job_state_holds(job->row.state))
            core_touch(ctl, job);
    }
    arena_destroy(arena);
    return rc;
}

/* ---- after a failed commit ---- */

/* Agents of which the engine was not told yet, and those that went for that: no row says so, and
 * one that was there before them may have left the directory by which a start takes them for
 * launched. */
struct pending_agents {
    uint32_t generation;
    struct live_agent *at;
    size_t n;
};

static struct pending_agents note_untold(const struct live_job *job, struct arena *arena)
{
    size_t n = job->agents.n + job->forgotten.n;
    struct pending_agents untold = { .generation = job->row.generation,
                                     .at = ARENA_ARRAY(arena, n, struct live_agent) };
    for (size_t i = 0; i < n; i++) {
        struct live_agent *agent = &untold.at[untold.n];
        *agent = i < job->agents.n ? job->agents.at[i] : job->forgotten.at[i - job->agents.n];
        agent->node = arena_strdup(arena, agent->node);
        untold.n += !agent->launched;
    }
    return untold;
}

/* The row is of that agent when it has a launch that was meant for it. */
static void keep_untold(struct live_job *job, const struct pending_agents *untold)
{
    for (size_t i = 0; i < untold->n && job->row.generation == untold->generation; i++) {
        struct live_agent *agent = live_agent(job, untold->at[i].node);
        if (!agent || agent->launch_seq < untold->at[i].since)
            continue;
        agent->launched = false;
        agent->since = untold->at[i].since;
        for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
            struct live_task *task = &job->tasks[flat];
            if (live_due(task) && strcmp(task->place.node, agent->node) == 0)
                live_set_phase(job, task, PHASE_PLACED);
        }
    }
}

static void load_again(struct ctl *ctl, uint64_t id)
{
    struct arena *arena = arena_create();
    struct live_job *job = live_find(ctl->live, id);
    const struct silence_memory *silence = NULL;
    struct pending_agents untold = { .n = 0 };
    struct job_row row;
    if (job) {
        untold = note_untold(job, arena);
        silence = silence_save(arena, job);
        load_forget(ctl, job);
    }
    if (core_lean_row(ctl, arena, id, &row) == 0 && !job_state_final(row.state)) {
        job = load_job(ctl, &row);
        keep_untold(job, &untold);
        if (silence)
            core_restore_silence(ctl, job, silence);
        core_touch(ctl, job);
    }
    arena_destroy(arena);
}

void load_touched(struct ctl *ctl)
{
    size_t n = ctl->touched.n;
    uint64_t *ids = ctl->touched.at;
    ctl->touched.at = NULL;
    ctl->touched.n = ctl->touched.cap = 0;
    for (size_t i = 0; i < n; i++)
        load_again(ctl, ids[i]);
    free(ids);
}
