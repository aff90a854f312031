/* Tasks and their attempts from rows: what answers say of them, log directories for readers, the
 * way into a running task for exec. */
#include "ctl/tasks.h"

#include "account/audit.h"
#include "account/rights.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/core.h"
#include "ctl/devices.h"
#include "ctl/views.h"
#include "depend/wording.h"
#include "live/row_json.h"
#include "text/json.h"
#include "wire/record.h"

#include <string.h>

const struct job_spec *tasks_spec(struct ctl *ctl, struct arena *arena, const struct job_row *row)
{
    const struct live_job *live = live_find(ctl->live, row->id);
    struct report report;
    if (live && live->spec)
        return live->spec;
    report_init(&report, arena);
    struct text_node *tree =
        row->spec ? json_parse(arena, row->spec, strlen(row->spec), 0, &report) : NULL;
    return tree ? job_decode(arena, tree, &report) : NULL;
}

/* ---- views ---- */

static void add_place(const struct ctl *ctl, struct arena *arena, const struct attempt_row *row,
                      struct attempt_view *view)
{
    struct live_task task = { 0 };
    row_json_read_place(arena, arena, row->place, &task);
    task.place.node = row->node;
    view->address = task.place.address;
    if (task.place.n_gpus)
        view->gpus =
            (struct number_list){ devices_numbers(ctl, arena, &task.place), task.place.n_gpus };
    if (!attempt_state_final(row->state))
        view->devices = devices_of_place(ctl, arena, &task.place);
    view->ports = (struct port_list){ task.place.ports, task.place.n_ports };
}

static void add_end(const struct ctl *ctl, const struct job_spec *spec,
                    const struct attempt_row *row, struct attempt_view *view)
{
    const struct ending *end = &row->ending;
    struct end_words words = dialect_classify(ctl->config.dialects, spec, end);
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

static void fill_attempt(const struct ctl *ctl, struct arena *arena, const struct job_spec *spec,
                         const struct attempt_row *row, struct attempt_view *view)
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
    add_place(ctl, arena, row, view);
    if (attempt_state_final(row->state))
        add_end(ctl, spec, row, view);
}

uint32_t tasks_flat(const struct job_spec *spec, struct task_ref ref)
{
    if (ref.role >= spec->n_roles || ref.index >= spec->roles[ref.role].replicas)
        return UINT32_MAX;
    return job_task_flat(spec, ref.role, ref.index);
}

/* By index, from the first of the span; returns how many attempts they have. */
static size_t views_of(struct ctl *ctl, struct arena *arena, const struct task_source *of,
                       const struct task_span *span, struct task_view *out)
{
    struct store *store = ctl->config.store;
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
        fill_attempt(ctl, arena, of->spec, &attempts[i], &views[i]);
    }
    return n_attempts;
}

size_t tasks_read(struct ctl *ctl, struct arena *arena, const struct task_source *of,
                  const struct task_span *span, struct task_view *out)
{
    const struct convention *words = convention_of(ctl->config.dialects, of->spec);
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
    size_t attempts = span->n ? views_of(ctl, arena, of, span, out) : 0;
    for (uint32_t i = 0; i < span->n; i++)
        out[i].word = words->task_word ? words->task_word(out[i].state) : NULL;
    return attempts;
}

struct task_list tasks_all(struct ctl *ctl, struct arena *arena, const struct job_row *job)
{
    const struct job_spec *spec = tasks_spec(ctl, arena, job);
    struct task_list list = { .n = spec ? job_task_count(spec) : 0 };
    list.at = ARENA_ARRAY(arena, list.n, struct task_view);
    struct task_view *out = list.at;
    for (uint32_t r = 0; spec && r < spec->n_roles; out += spec->roles[r++].replicas)
        tasks_read(ctl, arena, &(struct task_source){ job, spec },
                   &(struct task_span){ .role = r, .n = spec->roles[r].replicas }, out);
    return list;
}

/* ---- logs ---- */

static uint64_t log_end(const struct ctl *ctl, const struct attempt_row *row)
{
    const struct live_job *live = live_find(ctl->live, row->job);
    uint32_t flat = live && live->tasks ? live_flat(live, row->ref) : UINT32_MAX;
    if (flat == UINT32_MAX || live->tasks[flat].attempt != row->attempt)
        return row->log_end;
    return live->tasks[flat].log_end > row->log_end ? live->tasks[flat].log_end : row->log_end;
}

struct log_list {
    struct ctl_log *at;
    size_t n, cap;
};

static void add_log(struct arena *arena, struct log_list *list, const struct ctl_log *log)
{
    if (list->n == list->cap) {
        struct ctl_log *wider = ARENA_ARRAY(arena, 2 * list->cap + 8, struct ctl_log);
        if (list->n)
            memcpy(wider, list->at, list->n * sizeof *wider);
        list->at = wider;
        list->cap = 2 * list->cap + 8;
    }
    list->at[list->n++] = *log;
}

static int job_logs(struct ctl *ctl, struct arena *arena, const struct job_row *job,
                    const struct job_spec *spec, struct log_list *list, struct err *err)
{
    struct attempt_row *rows;
    size_t found = 0;
    char name[LOG_DIR_MAX];
    if (store_attempts(ctl->config.store, arena, job->id, &rows, &found, err))
        return -1;
    for (size_t i = 0; i < found; i++) {
        const struct attempt_row *row = &rows[i];
        if (tasks_flat(spec, row->ref) == UINT32_MAX)
            continue;
        const char *role = spec->roles[row->ref.role].name;
        AUTO_FREE char *dir = launch_dir(ctl, job->number, row->generation, row->node);
        log_dir_name(name, role, row->ref.index, row->attempt);
        struct ctl_log log = { .job = job->id,
                               .member = job->index,
                               .role = row->ref.role,
                               .index = row->ref.index,
                               .attempt = row->attempt,
                               .role_name = role,
                               .dir = arena_printf(arena, "%s/%s", dir, name),
                               .end = log_end(ctl, row),
                               .final = attempt_state_final(row->state) };
        add_log(arena, list, &log);
    }
    return 0;
}

uint32_t ctl_members(struct ctl *ctl, uint64_t id, uint32_t *tasks)
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

int ctl_logs(struct ctl *ctl, struct arena *arena, uint64_t id, struct ctl_log **logs, size_t *n,
             struct err *err)
{
    struct job_row job, *members = &job;
    struct log_list list = { 0 };
    size_t jobs = 1;
    if (core_row(ctl, arena, id, &job))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    const struct job_spec *spec = tasks_spec(ctl, arena, &job);
    if (!spec)
        return err_set(err, ERR_SYSTEM, "the record of job %llu cannot be read",
                       (unsigned long long)job.number);
    const struct job_filter all = { .array = job.id, .members = job.members, .limit = job.members };
    if (job.members && store_list(ctl->config.store, arena, &all, &members, &jobs, err))
        return -1;
    for (size_t i = 0; i < jobs; i++)
        if (members[i].generation > 0 && job_logs(ctl, arena, &members[i], spec, &list, err))
            return -1;
    *logs = list.at;
    *n = list.n;
    return 0;
}

/* ---- exec ---- */

bool tasks_read_ref(const struct job_spec *spec, const char *text, struct task_ref *ref)
{
    char role[JOB_NAME_MAX + 1];
    uint32_t position;
    uint64_t index = 0;
    const char *slash = strrchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    if (len >= sizeof role || (slash && !scan_u64(slash + 1, 0, JOB_MAX_TASKS, &index)))
        return false;
    memcpy(role, text, len);
    role[len] = '\0';
    if (!job_role(spec, role, &position))
        return false;
    *ref = (struct task_ref){ .role = (uint16_t)position, .index = (uint32_t)index };
    return tasks_flat(spec, *ref) != UINT32_MAX;
}

uint32_t tasks_find(const struct live_job *job, const char *text)
{
    struct task_ref ref;
    return tasks_read_ref(job->spec, text, &ref) ? live_flat(job, ref) : UINT32_MAX;
}

struct task_command {         /* a task of a job that runs, and who wants something of it */
    const char *owner, *task; /* task NULL: the only one that runs */
    uint64_t job;
    const char *action; /* for the audit record */
};

/* It runs, or is held open after it failed. */
static bool can_be_entered(const struct live_job *job, const struct live_task *at)
{
    bool held = at->state == TASK_FAILED && job->notes.hold_until_ms > 0;
    return at->attempt_state == ATTEMPT_RUNNING || held;
}

static const struct live_task *only_task(const struct live_job *job, struct err *err)
{
    const struct live_task *found = NULL;
    const uint32_t n = job_task_count(job->spec);
    char name[160];
    for (uint32_t flat = 0; flat < n; flat++) {
        if (!can_be_entered(job, &job->tasks[flat]))
            continue;
        if (found) {
            err_set(err, ERR_INPUT, "job %llu has several tasks that run: say which",
                    (unsigned long long)job->row.number);
            err_hint(err, "for example %s", live_task_name(name, job, flat));
            return NULL;
        }
        found = &job->tasks[flat];
    }
    if (!found)
        err_set(err, ERR_CONFLICT, "no task of job %llu runs now",
                (unsigned long long)job->row.number);
    return found;
}

static const struct live_task *named_task(const struct live_job *job, const char *name,
                                          struct err *err)
{
    uint32_t flat = tasks_find(job, name);
    if (flat == UINT32_MAX) {
        err_set(err, ERR_NOT_FOUND, "job %llu has no task \"%.100s\"",
                (unsigned long long)job->row.number, name);
        return NULL;
    }
    if (can_be_entered(job, &job->tasks[flat]))
        return &job->tasks[flat];
    err_set(err, ERR_CONFLICT, "%.100s is %s", name, task_state_word(job->tasks[flat].state));
    return NULL;
}

/* The task where it runs, or is held open after it failed; NULL with err. */
static const struct live_task *running_task(struct ctl *ctl, const struct task_command *w,
                                            struct live_job **out, struct err *err)
{
    struct live_job *job = live_find(ctl->live, w->job);
    const struct live_array *array = array_find(ctl->arrays, w->job);
    char id[JOB_ID_TEXT];
    *out = job;
    if (array) {
        array_refuse(&array->row, err);
        return NULL;
    }
    if (!job || !job_state_holds(job->row.state) || !core_spec(ctl, job) || !job->tasks) {
        err_set(err, ERR_CONFLICT, "the job runs nothing now");
        err_hint(err, "a failed task stays open with health.debug_hold");
        err_remedy_of(err, REMEDY_LOGS_OF, "%s", job_id_format(id, w->job));
        return NULL;
    }
    if (check_may_change(ctl->accounts, w->owner, &job->row, err)) {
        audit_job(ctl->accounts, w->owner, w->action, &job->row, err);
        return NULL;
    }
    return w->task ? named_task(job, w->task, err) : only_task(job, err);
}

int ctl_exec(struct ctl *ctl, const char *owner, uint64_t id, const char *task,
             struct engine_exec *exec, struct err *err)
{
    struct engine *engine = ctl->config.engine;
    struct live_job *job;
    const struct live_task *at =
        running_task(ctl, &(struct task_command){ owner, task, id, "job.exec" }, &job, err);
    if (!at)
        return -1;
    if (!(engine->ops->caps(engine) & ENGINE_EXEC) || !engine->ops->exec)
        return err_set(err, ERR_CANNOT, "the %s engine cannot run commands inside tasks",
                       engine->ops->name);
    exec->generation = (struct generation){ .job = id, .number = job->row.generation };
    exec->node = at->place.node;
    exec->task = (struct task_ref){ .role = (uint16_t)at->place.role, .index = at->place.index };
    exec->attempt = at->attempt;
    if (engine->ops->exec(engine, exec, err))
        return -1;
    audit_job(ctl->accounts, owner, "job.exec", &job->row, NULL);
    return 0;
}

int ctl_signal(struct ctl *ctl, const struct ctl_signal *ask, struct err *err)
{
    struct engine *engine = ctl->config.engine;
    struct live_job *job;
    const struct live_task *at = running_task(
        ctl, &(struct task_command){ ask->owner, ask->task, ask->job, "job.signal" }, &job, err);
    if (!at)
        return -1;
    if (!engine->ops->signal)
        return err_set(err, ERR_CANNOT, "the %s engine sends no signals", engine->ops->name);
    return engine->ops->signal(
        engine,
        &(struct engine_signal){
            .generation = { .job = ask->job, .number = job->row.generation },
            .node = at->place.node,
            .task = { .role = (uint16_t)at->place.role, .index = at->place.index },
            .attempt = at->attempt,
            .signal = ask->signal,
            .done = ask->done,
            .arg = ask->arg },
        err);
}
