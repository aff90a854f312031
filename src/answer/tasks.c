/* Tasks and their attempts from rows: what answers say of them, and the log directories of their
 * attempts. */
#include "answer/tasks.h"

#include "answer/devices.h"
#include "answer/views.h"
#include "base/mem.h"
#include "dialect/dialect.h"
#include "job/launch.h"
#include "live/row_json.h"
#include "store/store.h"
#include "text/json.h"
#include "wire/record.h"

#include <string.h>

const struct job_spec *tasks_spec(const struct contents *core, struct arena *arena,
                                  const struct job_row *row)
{
    const struct live_job *live = live_find(core->live, row->id);
    struct report report;
    if (live && live->spec)
        return live->spec;
    report_init(&report, arena);
    struct text_node *tree =
        row->spec ? json_parse(arena, row->spec, strlen(row->spec), 0, &report) : NULL;
    return tree ? job_decode(arena, tree, &report) : NULL;
}

static void add_place(const struct contents *core, struct arena *arena,
                      const struct attempt_row *row, struct attempt_view *view)
{
    struct live_task task = { 0 };
    row_json_read_place(arena, arena, row->place, &task);
    task.place.node = row->node;
    view->address = task.place.address;
    if (task.place.n_gpus)
        view->gpus =
            (struct number_list){ devices_numbers(core, arena, &task.place), task.place.n_gpus };
    if (!attempt_state_final(row->state))
        view->devices = devices_of_place(core, arena, &task.place);
    view->ports = (struct port_list){ task.place.ports, task.place.n_ports };
}

static void add_end(const struct contents *core, const struct job_spec *spec,
                    const struct attempt_row *row, struct attempt_view *view)
{
    const struct ending *end = &row->ending;
    struct end_words words = dialect_classify(core->dialects, spec, end);
    view->has_exit_code = end->exited;
    view->exit_code = end->code;
    view->has_signal = !end->exited && end->signal;
    view->signal = end->signal;
    view->oom = end->oom;
    view->by = end->by;
    view->class = words.class;
    view->has_foreign_code = true;
    view->foreign_code = words.code;
    view->phrase = words.phrase;
    view->text = words.text;
    view->reason = row->reason;
    view->memory_peak = end->memory_peak;
    view->tail = end->tail;
}

static void fill_attempt(const struct contents *core, struct arena *arena,
                         const struct job_spec *spec, const struct attempt_row *row,
                         struct attempt_view *view)
{
    *view = (struct attempt_view){ .attempt = row->attempt,
                                   .generation = row->generation,
                                   .state = row->state,
                                   .node = row->node,
                                   .pid = row->pid,
                                   .placed_ms = row->placed_ms,
                                   .started_ms = row->started_ms,
                                   .ended_ms = row->ended_ms,
                                   .log_end = row->log_end };
    add_place(core, arena, row, view);
    if (attempt_state_final(row->state))
        add_end(core, spec, row, view);
}

/* By index, from the first of the span; returns how many attempts they have. */
static size_t views_of(const struct contents *core, struct arena *arena,
                       const struct task_source *of, const struct task_span *span,
                       struct task_view *out)
{
    struct store *store = core->store;
    const struct task_range range = {
        .job = of->job->id,
        .first = { .role = (uint16_t)span->role, .index = span->first },
        .last = { .role = (uint16_t)span->role, .index = span->first + span->n - 1 }
    };
    struct task_row *tasks;
    struct attempt_row *attempts;
    size_t n_tasks = 0, n_attempts = 0;
    if (store_tasks_in(store, arena, &range, &tasks, &n_tasks, NULL))
        n_tasks = 0;
    if (store_attempts_in(store, arena, &range, &attempts, &n_attempts, NULL))
        n_attempts = 0;
    for (size_t i = 0; i < n_tasks; i++) {
        struct task_view *view = &out[tasks[i].ref.index - span->first];
        view->state = tasks[i].state;
        view->attempt = tasks[i].attempt;
    }
    struct attempt_view *views = ARENA_ARRAY(arena, n_attempts, struct attempt_view);
    for (size_t i = 0; i < n_attempts; i++) { /* those of a task follow each other */
        struct attempt_list *list = &out[attempts[i].ref.index - span->first].attempts;
        list->at = list->n ? list->at : &views[i];
        list->n++;
        fill_attempt(core, arena, of->spec, &attempts[i], &views[i]);
    }
    return n_attempts;
}

size_t tasks_read(const struct contents *core, struct arena *arena, const struct task_source *of,
                  const struct task_span *span, struct task_view *out)
{
    const struct convention *words = convention_of(core->dialects, of->spec);
    const struct role *role = &of->spec->roles[span->role];
    const char *name = arena_strdup(arena, role->name);
    for (uint32_t i = 0; i < span->n; i++)
        out[i] =
            (struct task_view){ .name = arena_printf(arena, "%s/%u", role->name, span->first + i),
                                .role = name,
                                .index = span->first + i,
                                .state = TASK_WAITING,
                                .open_stdin = role->open_stdin,
                                .tty = role->tty };
    size_t attempts = span->n ? views_of(core, arena, of, span, out) : 0;
    for (uint32_t i = 0; i < span->n; i++)
        out[i].word = words->task_word ? words->task_word(out[i].state) : NULL;
    return attempts;
}

struct task_list tasks_all(const struct contents *core, struct arena *arena,
                           const struct job_row *job)
{
    const struct job_spec *spec = tasks_spec(core, arena, job);
    struct task_list list = { .n = spec ? job_task_count(spec) : 0 };
    list.at = ARENA_ARRAY(arena, list.n, struct task_view);
    struct task_view *out = list.at;
    for (uint32_t r = 0; spec && r < spec->n_roles; out += spec->roles[r++].replicas)
        tasks_read(core, arena, &(struct task_source){ job, spec },
                   &(struct task_span){ .role = r, .n = spec->roles[r].replicas }, out);
    return list;
}

/* ---- logs ---- */

static uint64_t log_end(const struct contents *core, const struct attempt_row *row)
{
    const struct live_job *live = live_find(core->live, row->job);
    uint32_t flat = live && live->tasks ? live_flat(live, row->ref) : UINT32_MAX;
    if (flat == UINT32_MAX || live->tasks[flat].attempt != row->attempt)
        return row->log_end;
    return live->tasks[flat].log_end > row->log_end ? live->tasks[flat].log_end : row->log_end;
}

struct log_list {
    struct attempt_log *at;
    size_t n, cap;
};

static void add_log(struct arena *arena, struct log_list *list, const struct attempt_log *log)
{
    if (list->n == list->cap) {
        struct attempt_log *wider = ARENA_ARRAY(arena, 2 * list->cap + 8, struct attempt_log);
        if (list->n)
            memcpy(wider, list->at, list->n * sizeof *wider);
        list->at = wider;
        list->cap = 2 * list->cap + 8;
    }
    list->at[list->n++] = *log;
}

static bool has_task(const struct job_spec *spec, struct task_ref ref)
{
    return ref.role < spec->n_roles && ref.index < spec->roles[ref.role].replicas;
}

static int job_logs(const struct contents *core, struct arena *arena, const struct job_row *job,
                    const struct job_spec *spec, struct log_list *list, struct err *err)
{
    struct attempt_row *rows;
    size_t found = 0;
    char name[LOG_DIR_MAX];
    if (store_attempts(core->store, arena, job->id, &rows, &found, err))
        return -1;
    for (size_t i = 0; i < found; i++) {
        const struct attempt_row *row = &rows[i];
        if (!has_task(spec, row->ref))
            continue;
        const char *role = spec->roles[row->ref.role].name;
        AUTO_FREE char *dir = launch_dir(core->runs_dir, job->number, row->generation, row->node);
        log_dir_name(name, role, row->ref.index, row->attempt);
        struct attempt_log log = { .job = job->id,
                                   .member = job->index,
                                   .role = row->ref.role,
                                   .index = row->ref.index,
                                   .attempt = row->attempt,
                                   .role_name = role,
                                   .dir = arena_printf(arena, "%s/%s", dir, name),
                                   .end = log_end(core, row),
                                   .final = attempt_state_final(row->state) };
        add_log(arena, list, &log);
    }
    return 0;
}

uint32_t answer_members(struct ctl *ctl, uint64_t id, uint32_t *tasks)
{
    struct arena *arena = arena_create();
    struct job_row job = { 0 };
    core_row(ctl, arena, id, &job);
    uint32_t members = job.members;
    if (tasks)
        *tasks = job.tasks;
    arena_destroy(arena);
    return members;
}

int answer_logs(struct ctl *ctl, struct arena *arena, uint64_t id, struct attempt_log **logs,
                size_t *n, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct job_row job, *members = &job;
    struct log_list list = { 0 };
    size_t jobs = 1;
    if (core_row(ctl, arena, id, &job))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    const struct job_spec *spec = tasks_spec(&core, arena, &job);
    if (!spec)
        return err_set(err, ERR_SYSTEM, "the record of job %llu cannot be read",
                       (unsigned long long)job.number);
    const struct job_filter all = { .array = job.id, .members = job.members, .limit = job.members };
    if (job.members && store_list(core.store, arena, &all, &members, &jobs, err))
        return -1;
    for (size_t i = 0; i < jobs; i++)
        if (members[i].generation > 0 && job_logs(&core, arena, &members[i], spec, &list, err))
            return -1;
    *logs = list.at;
    *n = list.n;
    return 0;
}
