/* The job behind a TensorBoard or a history server: how it is written, found, shown and commanded.
 *
 * The program is the node's own; where there is none the job ends with 127, and the answer says
 * so. */
#include "api/dlc/log_service.h"

#include "api/accounts.h"
#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

/* ---- its job ---- */

/* NULL: it has none, or it is gone. */
static const struct job_view *job_of(struct dlc_call *d, const struct document_view *object,
                                     uint64_t *id)
{
    const char *text = dlc_text(dlc_spec(object), "Runs");
    struct job_view *job = ARENA_NEW(d->arena, struct job_view);
    if (!text || !job_id_parse(text, id))
        return NULL;
    const struct job_ask ask = { .job = *id, .owner = d->call->owner, .parts = JOB_TASKS };
    return answer_job_view(d->ctl, d->arena, &ask, job, NULL) ? NULL : job;
}

static const char *status_of(const struct dlc_log_service *of, const struct job_view *job)
{
    switch (job ? job->state : JOB_STOPPED) {
    case JOB_QUEUED: return of->waits;
    case JOB_RUNNING: return "Running";
    case JOB_STOPPING:
    case JOB_STOPPED: return "Stopped";
    case JOB_FAILED: return "Failed";
    case JOB_SUCCEEDED: return of->done;
    default: return "Creating";
    }
}

static bool ended(const struct job_view *job)
{
    return !job || job->state == JOB_STOPPING || job_state_final(job->state);
}

/* NULL: its task has none yet. */
static const struct attempt_view *attempt_of(const struct job_view *job)
{
    const struct attempt_list *all =
        job && job->task_list.n ? &job->task_list.at[0].attempts : NULL;
    return all && all->n ? &all->at[all->n - 1] : NULL;
}

static const char *url_of(struct dlc_call *d, const struct job_view *job)
{
    const struct attempt_view *attempt = attempt_of(job);
    return attempt ? dlc_port_url(d->arena, attempt, "web") : NULL;
}

static const char *why(const struct dlc_log_service *of, const struct job_view *job)
{
    const struct attempt_view *attempt = attempt_of(job);
    if (job && job->state == JOB_FAILED && attempt && attempt->has_exit_code &&
        attempt->exit_code == 127)
        return of->lacks;
    return job && job->reason ? job->reason : "";
}

struct text_node *log_service_job_of(struct dlc_call *d, const struct dlc_log_service *of,
                                     const struct log_service_job *j)
{
    struct arena *a = d->arena;
    struct text_node *job = text_map(a, NULL, NULL);
    dlc_put(a, job, "project", j->project);
    dlc_put(a, job, "queue", j->queue);
    if (j->priority)
        text_int(a, job, "priority", (int64_t)j->priority);
    text_str(a, job, "description", of->shown);
    if (j->minutes)
        text_str(a, text_map(a, job, "limits"), "run_time",
                 arena_printf(a, "%llum", (unsigned long long)j->minutes));
    struct text_node *role = text_map(a, text_map(a, job, "roles"), of->role);
    text_str(a, role, "run", of->command);
    text_str(a, text_map(a, role, "env"), "LOGDIR", j->dir ? j->dir : ".");
    text_int(a, text_map(a, role, "ports"), "web", 1);
    struct text_node *resources = text_map(a, role, "resources");
    text_str(a, resources, "cpu", j->cpu ? j->cpu : "1");
    text_str(a, resources, "memory", j->memory ? j->memory : "1Gi");
    if (j->gpus)
        text_int(a, resources, "gpu", (int64_t)j->gpus);
    if (j->data && j->data->count)
        text_copy(a, text_map(a, job, "inputs"), "data", j->data);
    return job;
}

/* ---- showing ---- */

/* Text, as the clients have it. */
static const char *seconds_of(struct dlc_call *d, const struct job_view *job)
{
    uint64_t began = job ? job->started_ms : 0;
    uint64_t end = job && job->ended_ms ? job->ended_ms : d->now_ms;
    return arena_printf(d->arena, "%llu",
                        (unsigned long long)(began && end > began ? (end - began) / 1000 : 0));
}

static struct text_node *shown(struct dlc_call *d, const struct dlc_log_service *of,
                               const struct document_view *object)
{
    struct arena *a = d->arena;
    const struct text_node *spec = dlc_spec(object);
    struct text_node *out = dlc_map(d);
    uint64_t id;
    const struct job_view *job = job_of(d, object, &id);
    text_str(a, out, of->id, object->name);
    for (const char *const *key = of->kept; *key; key++)
        dlc_copy(a, out, spec, *key);
    if (!text_get(out, "Accessibility"))
        text_str(a, out, "Accessibility", "PRIVATE");
    if (!text_get(out, "WorkspaceId"))
        text_str(a, out, "WorkspaceId", dlc_workspace(NULL));
    text_str(a, out, "Status", status_of(of, job));
    text_str(a, out, "ReasonCode", job && job->state == JOB_FAILED ? "JobFailed" : "");
    text_str(a, out, "ReasonMessage", why(of, job));
    dlc_put(a, out, of->url, url_of(d, job));
    text_str(a, out, "Duration", seconds_of(d, job));
    text_str(a, out, "GmtCreateTime", facade_time(a, object->created_ms));
    text_str(a, out, "GmtModifyTime", facade_time(a, object->changed_ms));
    dlc_put(a, out, "GmtFinishTime", facade_time(a, job ? job->ended_ms : 0));
    text_str(a, out, "UserId", object->owner);
    text_str(a, out, "Username", object->owner);
    if (of->more)
        of->more(d, out);
    return out;
}

const char *log_service_url(struct dlc_call *d, const struct dlc_log_service *of,
                            const struct document_view *object, const char **status)
{
    uint64_t id;
    const struct job_view *job = job_of(d, object, &id);
    *status = status_of(of, job);
    return job && job->state == JOB_RUNNING ? url_of(d, job) : NULL;
}

static bool wanted(struct dlc_call *d, const struct dlc_log_service *of,
                   const struct text_node *row)
{
    const char *name = dlc_query(d, "DisplayName"), *payment = dlc_query(d, "PaymentType");
    for (const char *const *key = of->same; *key; key++) {
        const char *said = dlc_query(d, *key), *is = dlc_text(row, *key);
        if (said && (!is || strcmp(is, said) != 0))
            return false;
    }
    if (dlc_query_flag(d, "ShowOwn", false) && strcmp(dlc_text(row, "UserId"), d->call->owner) != 0)
        return false;
    if (payment && strcmp(payment, "Free") != 0) /* nothing is paid for here */
        return false;
    if (name && !dlc_within(name, dlc_text(row, "DisplayName")))
        return false;
    return !of->wanted || of->wanted(d, row);
}

/* ---- finding ---- */

static bool visible(struct dlc_call *d, const struct document_view *object)
{
    const char *runs = dlc_text(dlc_spec(object), "Runs");
    uint64_t id;
    return dlc_own(d, object) ||
           (runs && job_id_parse(runs, &id) && answer_may_read(d->ctl, &d->call->who, id));
}

/* By a token of the job it runs as, too (GetToken of a TensorBoard). */
static bool by_token(struct dlc_call *d, const struct document_view *object)
{
    const char *runs = dlc_text(dlc_spec(object), "Runs");
    uint64_t id;
    return !(d->op->flags & DLC_WRITES) && runs && job_id_parse(runs, &id) && dlc_by_token(d, id);
}

/* Is it the one of the workspace and the job that the query names, if it names any? The job is
 * spelt JodId by the clients. */
static bool meant(struct dlc_call *d, const struct document_view *object)
{
    static const char *const same[][2] = { { "WorkspaceId", "WorkspaceId" },
                                           { "JodId", "JobId" },
                                           { "JobId", "JobId" } };
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        const char *said = dlc_query(d, same[i][0]);
        const char *is = dlc_text(dlc_spec(object), same[i][1]);
        is = is || i > 0 ? is : dlc_workspace(NULL);
        if (said && (!is || strcmp(is, said) != 0))
            return false;
    }
    return true;
}

const struct document_view *log_service_find(struct dlc_call *d, const struct dlc_log_service *of)
{
    const struct document_view *object = dlc_object(d, of->document, "", d->param[0]);
    if (!object || !(visible(d, object) || by_token(d, object)) || !meant(d, object))
        dlc_fail(d, 404, "NotFound", "no %s \"%.100s\"", of->shown, d->param[0]);
    else if ((d->op->flags & DLC_WRITES) && !dlc_own(d, object))
        dlc_fail(d, 403, "Forbidden.RAM", "%s \"%.100s\" belongs to %.60s", of->shown, d->param[0],
                 object->owner);
    else
        return object;
    return NULL;
}

/* ---- reading ---- */

void log_service_get(struct dlc_call *d, const struct dlc_log_service *of)
{
    const struct document_view *object = log_service_find(d, of);
    if (object)
        dlc_ok(d, shown(d, of, object));
}

void log_service_list(struct dlc_call *d, const struct dlc_log_service *of)
{
    struct dlc_listing l;
    uint64_t since = 0, until = 0, modified = 0;
    if (!dlc_listing_begin(&l, d, of->list) || !dlc_query_time(d, "StartTime", &since) ||
        !dlc_query_time(d, "EndTime", &until) || !dlc_query_time(d, "ModifiedAfter", &modified))
        return;
    const struct document_list all =
        documents_list(ctl_documents(d->ctl), d->arena, of->document, NULL);
    for (const struct document_view *one = all.at; one < all.at + all.n; one++) {
        uint64_t when = one->created_ms;
        if (!visible(d, one) || when < since || (until && when >= until) ||
            one->changed_ms < modified)
            continue;
        const struct text_node *row = shown(d, of, one);
        if (wanted(d, of, row))
            dlc_listing_add(&l, row, one);
    }
    dlc_ok(d, dlc_listing_end(&l));
}

/* ---- commands ---- */

struct starting {
    const struct dlc_log_service *of;
    const char *id;
    struct text_node *spec, *ready;
};

static void submitted(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    struct starting *s = d->more;
    char id[DLC_JOB_ID_TEXT];
    if (!dlc_done(d, answer))
        return;
    text_str(d->arena, s->spec, "Runs", dlc_job_id(id, answer->job));
    struct document object = { s->of->document, "", s->id, s->spec };
    d->more = s->ready;
    ctl_documents_put(d->ctl,
                      &(struct document_changes){ .by = d->call->owner, .at = &object, .n = 1 },
                      dlc_done_plain, d);
}

void log_service_start(struct dlc_call *d, const struct dlc_log_service *of, const char *id,
                       struct text_node *spec, struct text_node *ready)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    struct text_node *job = of->job(d, spec);
    if (!job || !dlc_spend(d, LIMIT_SUBMIT))
        return;
    text_str(d->arena, job, "name", id);
    json_print(job, 0, &text);
    struct starting *s = ARENA_NEW(d->arena, struct starting);
    *s = (struct starting){ .of = of, .id = id, .spec = spec, .ready = ready };
    d->more = s;
    call_keep(d->call);
    accounts_submit(d->call,
                    &(struct submission){ .owner = d->call->owner,
                                          .text = arena_strdup(d->arena, buf_str(&text)),
                                          .len = text.len,
                                          .from = "native" },
                    submitted, d);
}

struct text_node *log_service_id(struct dlc_call *d, const struct dlc_log_service *of)
{
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, of->id, d->param[0]);
    return out;
}

/* The one that is to be commanded, when it has ended or when it has not; NULL: answered. */
static const struct document_view *when(struct dlc_call *d, const struct dlc_log_service *of,
                                        bool over, const char *hint, uint64_t *id)
{
    const struct document_view *object = log_service_find(d, of);
    if (!object)
        return NULL;
    const struct job_view *job = job_of(d, object, id);
    if (ended(job) == over)
        return object;
    dlc_fail(d, 400, "BadRequest", "%s \"%.100s\" is %s%s", of->shown, d->param[0],
             status_of(of, job), hint);
    return NULL;
}

void log_service_again(struct dlc_call *d, const struct dlc_log_service *of)
{
    uint64_t id;
    const struct document_view *object = when(d, of, true, "", &id);
    struct text_node *spec = dlc_map(d); /* without what it ran as */
    for (const struct text_node *one = dlc_spec(object)->first; one; one = one->next)
        if (strcmp(one->key, "Runs") != 0)
            text_copy(d->arena, spec, one->key, one);
    if (object)
        log_service_start(d, of, d->param[0], spec, log_service_id(d, of));
}

void log_service_stop(struct dlc_call *d, const struct dlc_log_service *of)
{
    uint64_t id;
    if (!when(d, of, false, "", &id))
        return;
    d->more = log_service_id(d, of);
    call_keep(d->call);
    ctl_command(d->ctl, d->call->owner, id, CTL_STOP, dlc_done_plain, d);
}

void log_service_delete(struct dlc_call *d, const struct dlc_log_service *of)
{
    uint64_t id;
    struct document gone = { of->document, "", d->param[0], NULL };
    if (when(d, of, true, ": stop it first", &id))
        dlc_store(d, &gone, false, log_service_id(d, of));
}
