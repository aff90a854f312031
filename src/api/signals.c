/* A signal to some tasks of a job: one question to the agent of each, one record of the answers.
 *
 * Effects: processes get a signal; a row of `object` that goes with the job. It is sent at most
 * once: what a dying server did not record was not answered either. */
#include "api/signals.h"

#include "access/task_entry.h"
#include "answer/jobs.h"
#include "base/clock.h"
#include "base/mem.h"
#include "documents/documents.h"
#include "job/signals.h"

#include <sodium.h>
#include <string.h>

#define TASKS_MAX   10000
#define FAILED_KEPT 20
#define ID_SHIFT    20 /* of the milliseconds in an id, as in those of jobs */

struct sending {
    struct call *call;
    struct signal_order order;
    struct signalled_task {
        struct sending *all;
        const char *task, *why; /* why: not heard */
        int heard;
    } * at;
    size_t n, open;
    bool never;
    const char *id;
    struct text_node *kept;
};

static struct ctl *core(const struct sending *s)
{
    return s->call->api->config.ctl;
}

/* ---- which tasks ---- */

/* "worker/0", or "worker": all of that role. */
static bool meant(const char *word, const char *task)
{
    size_t len = strlen(word);
    return strncmp(task, word, len) == 0 && (!task[len] || task[len] == '/');
}

static bool named(const struct words *tasks, const char *name)
{
    for (size_t i = 0; i < tasks->n; i++)
        if (meant(tasks->at[i], name))
            return true;
    return tasks->n == 0;
}

/* Those that are meant, of the job's own list: 0, or -1. */
static int choose(struct sending *s, struct err *err)
{
    struct arena *a = s->call->arena;
    const struct words *tasks = &s->order.tasks;
    const struct job_ask ask = { .job = s->order.job, .owner = s->call->owner, .parts = JOB_TASKS };
    struct job_view job;
    if (answer_job_view(core(s), a, &ask, &job, err))
        return -1;
    s->at = ARENA_ARRAY(a, TASKS_MAX, struct signalled_task);
    for (size_t i = 0; i < job.task_list.n; i++) {
        const struct task_view *task = &job.task_list.at[i];
        if (!named(tasks, task->name) || (tasks->n == 0 && task->state != TASK_RUNNING))
            continue;
        if (s->n == TASKS_MAX)
            return err_set(err, ERR_TOO_LARGE, "more than %d tasks at once", TASKS_MAX);
        s->at[s->n++] = (struct signalled_task){ .all = s, .task = task->name };
    }
    for (size_t i = 0; i < tasks->n; i++) {
        bool there = false;
        for (size_t k = 0; k < s->n; k++)
            there = there || meant(tasks->at[i], s->at[k].task);
        if (!there)
            return err_set(err, ERR_NOT_FOUND, "the job has no task \"%.100s\"", tasks->at[i]);
    }
    if (s->n)
        return 0;
    err_set(err, ERR_CONFLICT, "the job runs nothing now");
    return err_hint(err, "a signal reaches tasks that run");
}

/* ---- what came of it ---- */

static void stored(void *arg, const struct ctl_answer *answer)
{
    struct sending *s = arg;
    s->order.done(s->order.arg, answer->err, s->id, s->kept);
}

static bool job_ended(struct sending *s)
{
    const struct job_ask ask = { .job = s->order.job, .owner = s->call->owner };
    struct job_view job;
    return answer_job_view(core(s), s->call->arena, &ask, &job, NULL) || job_state_final(job.state);
}

/* The event of the job: what was sent, to whom, by whom. */
static const char *event_text(const struct sending *s, int64_t heard)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    buf_addf(&out, "%s to ", signal_word(s->order.signal));
    for (size_t i = 0; i < s->n && i < FAILED_KEPT; i++)
        buf_addf(&out, "%s%.100s", i ? ", " : "", s->at[i].task);
    if (s->n > FAILED_KEPT)
        buf_addf(&out, " and %zu more", s->n - FAILED_KEPT);
    buf_addf(&out, ": heard by %lld of %zu, sent by %.100s", (long long)heard, s->n,
             s->call->owner ? s->call->owner : "the server's user");
    return arena_strdup(s->call->arena, buf_str(&out));
}

static struct text_node *record(struct sending *s)
{
    struct arena *a = s->call->arena;
    struct text_node *kept = text_map(a, NULL, NULL), *failed = text_list(a, NULL, NULL);
    int64_t heard = 0, processes = 0;
    for (size_t i = 0; i < s->n; i++) {
        heard += !s->at[i].why;
        processes += s->at[i].why ? 0 : s->at[i].heard;
        if (!s->at[i].why || failed->count == FAILED_KEPT)
            continue;
        struct text_node *one = text_map(a, failed, NULL);
        text_str(a, one, "task", s->at[i].task);
        text_str(a, one, "why", s->at[i].why);
    }
    text_str(a, kept, "signal", signal_word(s->order.signal));
    text_str(a, kept, "state",
             heard == (int64_t)s->n ? "completed"
             : job_ended(s)         ? "ended"
                                    : "failed");
    text_int(a, kept, "tasks", (int64_t)s->n);
    text_int(a, kept, "heard", heard);
    text_int(a, kept, "processes", processes);
    text_copy(a, kept, "failed", failed);
    text_str(a, kept, "event", event_text(s, heard));
    if (s->order.said)
        text_copy(a, kept, "said", s->order.said);
    return kept;
}

/* All have answered: the record is put, and the oldest ones make room. */
static void conclude(struct sending *s)
{
    struct arena *a = s->call->arena;
    char job[JOB_ID_TEXT], id[JOB_ID_TEXT];
    const char *project = arena_strdup(a, job_id_format(job, s->order.job));
    const struct document_list was =
        documents_list(ctl_documents(core(s)), a, SIGNAL_KIND, project);
    struct document *at = ARENA_ARRAY(a, was.n + 1, struct document);
    size_t n = 0, many = was.n;
    s->kept = record(s);
    job_id_format(id, (clock_wall_ms() << ID_SHIFT) + randombytes_uniform(1u << ID_SHIFT));
    s->id = arena_printf(a, "sig%s", id);
    at[n++] = (struct document){ SIGNAL_KIND, project, s->id, s->kept };
    caller_tell(s->call);
    for (size_t i = 0; i < was.n && many >= SIGNALS_KEPT; i++, many--)
        at[n++] = (struct document){ SIGNAL_KIND, project, was.at[i].name, NULL };
    ctl_documents_put(core(s), &(struct document_changes){ .by = s->call->owner, .at = at, .n = n },
                      stored, s);
}

static void on_heard(void *arg, int heard)
{
    struct signalled_task *one = arg;
    struct sending *s = one->all;
    one->heard = heard;
    s->never = s->never || heard == HEARD_NEVER;
    if (heard < 0)
        one->why = "its agent did not answer";
    else if (heard == 0 && signal_is_a_request(s->order.signal))
        one->why = arena_printf(s->call->arena, "no process of it catches %s",
                                signal_word(s->order.signal));
    else if (heard == 0)
        one->why = "it runs no more";
    if (--s->open > 0)
        return;
    if (s->never)
        call_free(s->call);
    else
        conclude(s);
}

void signals_send(struct call *call, const struct signal_order *order)
{
    struct sending *s = ARENA_NEW(call->arena, struct sending);
    struct err err;
    *s = (struct sending){ .call = call, .order = *order };
    call_keep(call);
    if (choose(s, &err)) {
        order->done(order->arg, &err, NULL, NULL);
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct task_signal ask = { .to = { call->owner, order->job, s->at[i].task },
                                         .signal = order->signal,
                                         .done = on_heard,
                                         .arg = &s->at[i] };
        if (task_signal(ctl_access(core(s)), &ask, &err) == 0) {
            s->open++;
            continue;
        }
        s->at[i].why = arena_strdup(call->arena, err.what);
        if (i == 0 && (err.code == ERR_DENIED || err.code == ERR_CANNOT)) { /* the same of all */
            order->done(order->arg, &err, NULL, NULL);
            return;
        }
    }
    if (s->open == 0)
        conclude(s);
}

/* ---- the native route ---- */

static void answer(void *arg, const struct err *err, const char *id, const struct text_node *kept)
{
    struct call *call = arg;
    if (err) {
        call_problem(call, err, NULL);
        return;
    }
    struct text_node *out = text_map(call->arena, NULL, NULL);
    text_str(call->arena, out, "id", id);
    for (const struct text_node *one = kept->first; one; one = one->next)
        text_copy(call->arena, out, one->key, one);
    call_answer(call, call->success, out);
}

void job_signal(struct call *call)
{
    struct signal_order order = { .done = answer, .arg = call };
    const char *word = http_query(call->request, "signal", 0), *task;
    struct err err;
    size_t n = 0;
    order.signal = word ? signal_of_word(word) : 0;
    if (!order.signal) {
        err_set(&err, ERR_INPUT, "signal is \"%.40s\"", word ? word : "");
        err_hint(&err, "one of " SIGNAL_WORDS "; the verb stop ends a job");
        call_problem(call, &err, NULL);
        return;
    }
    while (http_query(call->request, "task", n))
        n++;
    order.tasks = (struct words){ .at = ARENA_ARRAY(call->arena, n + 1, const char *), .n = n };
    for (size_t i = 0; (task = http_query(call->request, "task", i)); i++)
        order.tasks.at[i] = arena_strdup(call->arena, task);
    if (call_job(call, &order.job))
        signals_send(call, &order);
}
