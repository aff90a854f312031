/* The table of live jobs and the ordered list of those that wait. Memory only: no rows, no engine,
 * no clock. */
#include "live/live.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "depend/array.h"
#include "live/lines.h"

#include <stdio.h>
#include <string.h>

#define PLACE_TEXTS 512u

struct live {
    struct map *by_id;
    VEC(struct live_job *) waiting; /* priority descending, id ascending */
    VEC(struct live_job *) active;
    VEC(struct sched_running) running; /* of the active ones */
    struct lines *lines;
};

struct live *live_create(void)
{
    struct live *live = mem_new(sizeof *live);
    live->by_id = map_create();
    live->lines = lines_create();
    return live;
}

static void job_free(struct live_job *job)
{
    vec_fini(&job->agents);
    vec_fini(&job->forgotten);
    hash_index_fini(&job->agents_by_node);
    free(job->tasks);
    free(job->tally);
    free(job->up);
    free(job->taken);
    free(job->phases);
    free(job->reason);
    free(job->called);
    arena_destroy(job->launching);
    arena_destroy(job->places);
    arena_destroy(job->arena);
    free(job);
}

void live_destroy(struct live *live)
{
    if (!live)
        return;
    size_t cursor = 0;
    struct live_job *job;
    while (live_next(live, &cursor, &job))
        job_free(job);
    map_destroy(live->by_id);
    lines_destroy(live->lines);
    vec_fini(&live->waiting);
    vec_fini(&live->active);
    vec_fini(&live->running);
    free(live);
}

struct live_job *live_find(const struct live *live, uint64_t id)
{
    return map_get(live->by_id, id);
}

size_t live_count(const struct live *live)
{
    return map_count(live->by_id);
}

bool live_next(const struct live *live, size_t *cursor, struct live_job **job)
{
    uint64_t key;
    void *value;
    if (!map_next(live->by_id, cursor, &key, &value))
        return false;
    *job = value;
    return true;
}

/* Most jobs wait, and are little more than their row: its texts and nothing to spare. */
static struct arena *arena_for(const struct job_row *row)
{
    const char *texts[] = { row->owner, row->project, row->name, row->queue, row->dialect };
    return arena_create_for(texts, ARRAY_LEN(texts));
}

struct live_job *live_add(struct live *live, const struct job_row *row)
{
    struct live_job *job = mem_new(sizeof *job);
    job->arena = arena_for(row);
    job->row = *row;
    job->row.owner = arena_strdup(job->arena, row->owner);
    job->row.project = arena_strdup(job->arena, row->project);
    job->row.name = arena_strdup(job->arena, row->name);
    job->row.queue = arena_strdup(job->arena, row->queue);
    job->row.dialect = arena_strdup(job->arena, row->dialect);
    job->row.spec = job->row.site = job->row.live = NULL;
    live_set_sentence(job, &row->reason);
    map_set(live->by_id, row->id, job);
    return job;
}

void live_remove(struct live *live, struct live_job *job)
{
    if (job->waits)
        live_wait_remove(live, job);
    live_set_active(live, job, false);
    map_remove(live->by_id, job->row.id);
    job_free(job);
}

size_t live_waiting(const struct live *live)
{
    return live->waiting.n;
}

struct live_job *live_waiting_at(const struct live *live, size_t i)
{
    return live->waiting.at[i];
}

static bool before(const struct live_job *a, const struct live_job *b)
{
    if (a->row.priority != b->row.priority)
        return a->row.priority > b->row.priority;
    return a->row.id < b->row.id;
}

size_t live_wait_position(const struct live *live, const struct live_job *job)
{
    size_t low = 0, high = live->waiting.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (before(live->waiting.at[mid], job))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t live_wait_add(struct live *live, struct live_job *job)
{
    size_t at = live_wait_position(live, job);
    if (job->waits)
        return at;
    vec_push(&live->waiting, job);
    struct live_job **slot = live->waiting.at + at;
    memmove(slot + 1, slot, (live->waiting.n - 1 - at) * sizeof *slot);
    *slot = job;
    job->waits = true;
    return at;
}

void live_wait_remove(struct live *live, struct live_job *job)
{
    size_t at = live_wait_position(live, job);
    if (!job->waits || at >= live->waiting.n || live->waiting.at[at] != job)
        BUG("job %llu is not where it should wait", (unsigned long long)job->row.id);
    vec_remove(&live->waiting, at);
    lines_leave(live->lines, job);
    job->waits = false;
}

struct lines *live_lines(const struct live *live)
{
    return live->lines;
}

struct sentence live_reason(const struct live_job *job)
{
    return job->line && job->line->reason.len ? draft_said(&job->line->reason) : job->row.reason;
}

const struct live_refusal *live_refusal(const struct live_job *job)
{
    return job->line ? &job->line->refusal : &job->refusal;
}

size_t live_active(const struct live *live)
{
    return live->active.n;
}

struct live_job *live_active_at(const struct live *live, size_t i)
{
    return live->active.at[i];
}

struct sched_running *live_running(const struct live *live)
{
    return live->running.at;
}

void live_set_active(struct live *live, struct live_job *job, bool active)
{
    if (active == (job->active > 0))
        return;
    if (active) {
        vec_push(&live->active, job);
        vec_add(&live->running)->id = job->row.id;
        job->active = (uint32_t)live->active.n;
        return;
    }
    struct live_job *last = live->active.at[--live->active.n];
    live->active.at[job->active - 1] = last;
    live->running.at[job->active - 1] = live->running.at[--live->running.n];
    last->active = job->active;
    job->active = 0;
}

void live_make_tasks(struct live_job *job)
{
    if (!job->places)
        job->places = arena_create_of(PLACE_TEXTS);
    if (job->tasks)
        return;
    const struct job_spec *spec = job->spec;
    job->tasks = mem_new(job_task_count(spec) * sizeof *job->tasks);
    job->tally = mem_new(spec->n_roles * sizeof *job->tally);
    job->up = mem_new(spec->n_roles * sizeof *job->up);
    job->taken = mem_new(spec->n_roles * sizeof *job->taken);
    job->phases = mem_new(PHASE_N * sizeof *job->phases);
    uint32_t flat = 0;
    for (uint32_t role = 0; role < spec->n_roles; role++) {
        for (uint32_t i = 0; i < spec->roles[role].replicas; i++, flat++) {
            job->tasks[flat].state = TASK_WAITING;
            job->tasks[flat].place =
                (struct task_place){ .role = role, .index = i, .node = "", .address = "" };
        }
    }
    live_count_tasks(job);
}

/* ---- what is counted of tasks ---- */

/* A task in its state is counted, or no longer: by 1, or by -1. */
static void count_state(struct live_job *job, const struct live_task *task, uint32_t by)
{
    uint32_t role = task->place.role;
    struct role_tally *tally = &job->tally[role];
    if (live_was_up(task))
        job->up[role] += by;
    if (task->state == TASK_SUCCEEDED)
        tally->succeeded += by;
    else if (task->state == TASK_FAILED)
        tally->failed += by;
    else if (task->state == TASK_STOPPED)
        tally->stopped += by;
}

void live_set_state(struct live_job *job, struct live_task *task, enum task_state state)
{
    count_state(job, task, UINT32_MAX);
    task->state = state;
    count_state(job, task, 1);
}

bool live_tally(const struct live_job *job, struct role_tally *sum)
{
    *sum = (struct role_tally){ 0 };
    if (!job->tally || !job->spec)
        return false;
    for (size_t i = 0; i < job->spec->n_roles; i++) {
        sum->succeeded += job->tally[i].succeeded;
        sum->failed += job->tally[i].failed;
        sum->stopped += job->tally[i].stopped;
    }
    return true;
}

void live_count_tasks(struct live_job *job)
{
    size_t roles = job->spec->n_roles;
    memset(job->tally, 0, roles * sizeof *job->tally);
    memset(job->up, 0, roles * sizeof *job->up);
    memset(job->taken, 0, roles * sizeof *job->taken);
    memset(job->phases, 0, PHASE_N * sizeof *job->phases);
    job->turned = 0;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        count_state(job, task, 1);
        job->taken[task->place.role] += task->taken;
        job->phases[task->phase]++;
        job->turned += task->turned;
    }
}

/* One more or less in n, when the mark changes. */
static void set_mark(bool *mark, bool value, uint32_t *n)
{
    *n += (uint32_t)value - (uint32_t)*mark;
    *mark = value;
}

void live_set_taken(struct live_job *job, struct live_task *task, bool taken)
{
    set_mark(&task->taken, taken, &job->taken[task->place.role]);
}

void live_set_turned(struct live_job *job, struct live_task *task, bool turned)
{
    set_mark(&task->turned, turned, &job->turned);
}

void live_set_phase(struct live_job *job, struct live_task *task, enum task_phase phase)
{
    if (phase == task->phase)
        return;
    if (!phase_may(task->phase, phase))
        log_error("task.phase", "job=%llu task=%u/%u from=%s to=%s",
                  (unsigned long long)job->row.number, task->place.role, task->place.index,
                  phase_word(task->phase), phase_word(phase));
    job->phases[task->phase]--;
    job->phases[phase]++;
    task->phase = phase;
}

uint32_t live_in_phase(const struct live_job *job, enum task_phase phase)
{
    return job->tasks ? job->phases[phase] : 0;
}

uint32_t live_in_phases(const struct live_job *job, bool (*in)(enum task_phase))
{
    uint32_t n = 0;
    for (unsigned phase = 0; phase < PHASE_N; phase++)
        if (in((enum task_phase)phase))
            n += live_in_phase(job, (enum task_phase)phase);
    return n;
}

uint32_t live_taken(const struct live_job *job)
{
    uint32_t n = 0;
    for (size_t i = 0; job->tasks && job->spec && i < job->spec->n_roles; i++)
        n += job->taken[i];
    return n;
}

uint32_t live_flat(const struct live_job *job, struct task_ref ref)
{
    const struct job_spec *spec = job->spec;
    if (!job->tasks || ref.role >= spec->n_roles || ref.index >= spec->roles[ref.role].replicas)
        return UINT32_MAX;
    return job_task_flat(spec, ref.role, ref.index);
}

/* Whoever runs the server chooses the names of nodes: a keyed hash is not needed. */
static uint64_t hash_of_node(const char *node)
{
    return hash_add_text(HASH_BEGIN, node);
}

uint64_t live_array_number(const struct live_job *job)
{
    return array_number(&job->row);
}

struct live_agent *live_agent(const struct live_job *job, const char *node)
{
    uint32_t i = hash_index_first(&job->agents_by_node, hash_of_node(node));
    while (i != HASH_INDEX_NONE && strcmp(job->agents.at[i].node, node) != 0)
        i = hash_index_next(&job->agents_by_node, i);
    return i == HASH_INDEX_NONE ? NULL : &job->agents.at[i];
}

struct live_agent *live_add_agent(struct live_job *job, const char *node)
{
    hash_index_add(&job->agents_by_node, (uint32_t)job->agents.n, hash_of_node(node));
    struct live_agent *agent = vec_add(&job->agents);
    agent->node = arena_strdup(job->places, node);
    return agent;
}

void live_remove_agent(struct live_job *job, struct live_agent *agent)
{
    uint32_t at = (uint32_t)(agent - job->agents.at), last = (uint32_t)job->agents.n - 1;
    job->silent -= agent->silent_ms != 0;
    hash_index_remove(&job->agents_by_node, at);
    if (at != last) {
        hash_index_remove(&job->agents_by_node, last);
        *agent = job->agents.at[last];
        hash_index_add(&job->agents_by_node, at, hash_of_node(agent->node));
    }
    job->agents.n--;
}

void live_clear_agents(struct live_job *job)
{
    hash_index_clear(&job->agents_by_node);
    job->silent = 0;
    vec_clear(&job->agents);
    vec_clear(&job->forgotten);
}

bool live_closing(const struct live_job *job)
{
    return job->row.outcome != OUTCOME_NONE;
}

void live_set_reason(struct live_job *job, const char *text)
{
    live_set_sentence(job, &(struct sentence){ .text = text });
}

void live_set_sentence(struct live_job *job, const struct sentence *said)
{
    struct draft kept;
    draft_init(&kept);
    draft_sentence(&kept, said);
    free(job->reason);
    free(job->called);
    job->row.reason = draft_said(&kept);
    job->row.reason.text = job->reason = mem_strdup(kept.text);
    job->row.reason.named.called = job->called = kept.number ? mem_strdup(kept.called) : NULL;
}

const char *live_task_name(char out[160], const struct live_job *job, uint32_t flat)
{
    const struct task_place *place = &job->tasks[flat].place;
    snprintf(out, 160, "%s/%u", job->spec->roles[place->role].name, place->index);
    return out;
}

uint32_t live_task_named(const struct live_job *job, const char *name)
{
    size_t len = strcspn(name, "/");
    uint64_t index;
    for (uint32_t i = 0; name[len] && i < job->spec->n_roles; i++) {
        const struct role *role = &job->spec->roles[i];
        if (strlen(role->name) == len && strncmp(role->name, name, len) == 0)
            return scan_u64(name + len + 1, 0, role->replicas, &index) && index < role->replicas
                       ? job_task_flat(job->spec, i, (uint32_t)index)
                       : UINT32_MAX;
    }
    return UINT32_MAX;
}

bool live_attempt(const struct live_task *task)
{
    return task->attempt_state == ATTEMPT_STARTING || task->attempt_state == ATTEMPT_RUNNING;
}

bool live_untold(const struct live_task *task)
{
    return task->phase == PHASE_PLACED;
}

bool live_due(const struct live_task *task)
{
    return phase_due(task->phase);
}

bool live_again(const struct live_task *task)
{
    return phase_comes_again(task->phase);
}

bool live_was_up(const struct live_task *task)
{
    return task->state == TASK_RUNNING || (task_state_final(task->state) && task->started_ms > 0);
}
