/* CreateSignal, GetSignal, ListSignals. A signal that was sent is answered at once with what came
 * of it: agents answer in milliseconds, so there is no state of one on its way. */
#include "api/dlc/documents.h"

#include "api/signals.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "job/signals.h"

#include <string.h>
#include <strings.h>

#define MESSAGE_SIZE 8192

static const struct dlc_list_type listed = { .key = "Signals",
                                             .size = 10,
                                             .descending = true,
                                             .numbered = true,
                                             .sorts = { "GmtCreated", "GmtModified", "Signal",
                                                        "Status", "SignalId" } };

static const struct {
    const char *state, *status, *reason;
} outcomes[] = { { "completed", "Succeeded", "Completed" },
                 { "failed", "Failed", "SignalFailed" },
                 { "ended", "Stopped", "StoppedByJobEnded" } };

static size_t outcome(const struct text_node *kept)
{
    const char *state = dlc_text(kept, "state");
    for (size_t i = 0; state && i < ARRAY_LEN(outcomes); i++)
        if (strcmp(outcomes[i].state, state) == 0)
            return i;
    return 1;
}

static int64_t number(const struct text_node *kept, const char *key)
{
    const struct text_node *node = text_get(kept, key);
    return node && node->kind == TEXT_INT ? node->integer : 0;
}

/* "worker/0" -> "dlc...-worker-0" */
static const char *pod_of(struct arena *a, uint64_t job, const char *task)
{
    size_t role = strcspn(task, "/");
    uint64_t index = 0;
    if (task[role])
        (void)scan_u64(task + role + 1, 0, UINT32_MAX, &index);
    return dlc_pod_id(a, job, arena_strndup(a, task, role), index);
}

static const char *message(struct arena *a, uint64_t job, const struct text_node *kept)
{
    AUTO_BUF struct buf out = BUF_INIT(MESSAGE_SIZE);
    const struct text_node *failed = text_get(kept, "failed");
    buf_addf(&out, "%lld of %lld pods, %lld processes", (long long)number(kept, "heard"),
             (long long)number(kept, "tasks"), (long long)number(kept, "processes"));
    for (const struct text_node *one = failed ? failed->first : NULL; one; one = one->next)
        buf_addf(&out, "; %s: %s", pod_of(a, job, dlc_text(one, "task")), dlc_text(one, "why"));
    return arena_strdup(a, buf_str(&out));
}

static struct text_node *shown(struct dlc_call *d, uint64_t job, const struct document_view *object)
{
    static const char *const said[] = { "Scope", "PodNames", "Roles" };
    const struct text_node *kept = dlc_spec(object), *target = text_get(kept, "said");
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "SignalId", object->name);
    dlc_put(d->arena, out, "Signal", dlc_text(kept, "signal"));
    text_str(d->arena, out, "Status", outcomes[outcome(kept)].status);
    text_str(d->arena, out, "Reason", outcomes[outcome(kept)].reason);
    text_str(d->arena, out, "Message", message(d->arena, job, kept));
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        dlc_copy(d->arena, out, target, said[i]);
    text_str(d->arena, out, "GmtCreated", facade_time(d->arena, object->created_ms));
    text_str(d->arena, out, "GmtModified", facade_time(d->arena, object->changed_ms));
    return out;
}

/* ---- create ---- */

struct creating {
    struct dlc_call *d;
    struct signal_order order;
};

static void sent(void *arg, const struct err *err, const char *id, const struct text_node *kept)
{
    struct creating *c = arg;
    struct dlc_call *d = c->d;
    char job[DLC_JOB_ID_TEXT];
    if (err) {
        dlc_err(d, err, NULL);
        return;
    }
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "JobId", dlc_job_id(job, c->order.job));
    text_str(d->arena, out, "SignalId", id);
    dlc_put(d->arena, out, "Signal", dlc_text(kept, "signal"));
    text_str(d->arena, out, "Status", outcomes[outcome(kept)].status);
    dlc_ok(d, out);
}

/* Adds the tasks that a word means: of a pod's name, or a role in any case of letters. */
static bool add_tasks(struct creating *c, const struct task_list *tasks, const char *word, bool pod)
{
    struct dlc_call *d = c->d;
    size_t before = c->order.tasks.n;
    for (const struct task_view *task = tasks->at; task < tasks->at + tasks->n; task++) {
        const char *is =
            pod ? dlc_pod_id(d->arena, c->order.job, task->role, task->index) : task->role;
        if (strcasecmp(is, word) == 0)
            c->order.tasks.at[c->order.tasks.n++] = task->name;
    }
    if (c->order.tasks.n > before)
        return true;
    dlc_fail(d, 404, "NotFound", "the job has no %s \"%.100s\"", pod ? "pod" : "role", word);
    return false;
}

/* The list that the scope names: PodNames or Roles, NULL: the whole job is meant. false: answered,
 * and so when a list is there that is not of the scope. */
static bool listed_in(struct dlc_call *d, const struct text_node *target, const char **key)
{
    static const char *const scopes[][2] = { { "pods", "PodNames" }, { "roles", "Roles" } };
    const char *scope = dlc_text(target, "Scope");
    scope = scope ? scope : "job";
    *key = NULL;
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
        if (strcasecmp(scope, scopes[i][0]) == 0)
            *key = scopes[i][1];
    if (!*key && strcasecmp(scope, "job") != 0) {
        dlc_fail(d, 400, "InvalidParameter", "Target.Scope is \"%.40s\", not pods or roles", scope);
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
        if (*key != scopes[i][1] && dlc_list(target, scopes[i][1])) {
            dlc_fail(d, 400, "InvalidParameter", "Target.%s is not of Target.Scope %.40s",
                     scopes[i][1], scope);
            return false;
        }
    return true;
}

/* Target: {Scope: pods or roles, PodNames, Roles}; none: every pod. */
static bool read_target(struct creating *c, const struct text_node *target)
{
    struct dlc_call *d = c->d;
    const char *key = NULL;
    if (target && !listed_in(d, target, &key))
        return false;
    if (!key)
        return true;
    const struct text_node *words = dlc_list(target, key);
    const struct job_ask ask = { .job = c->order.job, .owner = d->call->owner, .parts = JOB_TASKS };
    struct job_view job = { 0 };
    answer_job_view(d->ctl, d->arena, &ask, &job, NULL);
    if (!words) {
        dlc_fail(d, 400, "MissingParameter", "Target.%s is missing", key);
        return false;
    }
    size_t most = job.task_list.n;
    if (words->count > most) {
        dlc_fail(d, 404, "NotFound", "Target.%s has more names than the job has pods", key);
        return false;
    }
    bool pods = strcmp(key, "PodNames") == 0;
    c->order.tasks.at = ARENA_ARRAY(d->arena, most * words->count + 1, const char *);
    for (const struct text_node *one = words->first; one; one = one->next)
        if (!add_tasks(c, &job.task_list, one->str ? one->str : "", pods))
            return false;
    return true;
}

void dlc_signal_create(struct dlc_call *d)
{
    struct creating *c = ARENA_NEW(d->arena, struct creating);
    const struct text_node *target = text_get(d->body, "Target");
    const char *word;
    *c = (struct creating){ .d = d, .order = { .done = sent, .arg = c } };
    if (!dlc_job(d, d->param[0], &c->order.job) || !dlc_need(d, "Signal", &word))
        return;
    c->order.signal = signal_of_word(word);
    if (!c->order.signal) {
        dlc_fail(d, 400, "InvalidParameter", "Signal is \"%.40s\", not one of " SIGNAL_WORDS, word);
        return;
    }
    if (!answer_may_write(d->ctl, &d->call->who, c->order.job)) {
        dlc_fail(d, 403, "Forbidden.RAM", "job \"%.40s\" is not yours", d->param[0]);
        return;
    }
    if (target && target->kind != TEXT_MAP) {
        dlc_fail(d, 400, "InvalidParameter", "Target is %s, not an object",
                 text_kind_word(target->kind));
        return;
    }
    if (!read_target(c, target))
        return;
    c->order.said = target;
    signals_send(d->call, &c->order);
}

/* ---- reading ---- */

static const char *project(struct dlc_call *d, uint64_t job)
{
    char text[JOB_ID_TEXT];
    return arena_strdup(d->arena, job_id_format(text, job));
}

void dlc_signal_get(struct dlc_call *d)
{
    uint64_t id;
    char text[DLC_JOB_ID_TEXT];
    if (!dlc_job(d, d->param[0], &id))
        return;
    const struct document_view *object = dlc_object(d, SIGNAL_KIND, project(d, id), d->param[1]);
    if (!object) {
        dlc_fail(d, 404, "NotFound", "job %.40s has no signal \"%.60s\"", d->param[0], d->param[1]);
        return;
    }
    struct text_node *out = shown(d, id, object);
    text_str(d->arena, out, "JobId", dlc_job_id(text, id));
    dlc_ok(d, out);
}

void dlc_signal_list(struct dlc_call *d)
{
    const char *status = dlc_query(d, "Status");
    struct dlc_listing l;
    uint64_t id;
    char text[DLC_JOB_ID_TEXT];
    if (!dlc_job(d, d->param[0], &id) || !dlc_listing_begin(&l, d, &listed))
        return;
    const struct document_list all =
        documents_list(ctl_documents(d->ctl), d->arena, SIGNAL_KIND, project(d, id));
    for (const struct document_view *one = all.at; one < all.at + all.n; one++) /* oldest first */
        if (!status || strcasecmp(status, outcomes[outcome(dlc_spec(one))].status) == 0)
            dlc_listing_add(&l, shown(d, id, one), one);
    struct text_node *out = dlc_listing_end(&l);
    text_str(d->arena, out, "JobId", dlc_job_id(text, id));
    dlc_ok(d, out);
}
