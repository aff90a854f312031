/* CreateJob, ListJobs, GetJob, UpdateJob, StopJob, DeleteJob.
 *
 * A job goes in as the dialect reads it and comes out as job_item.c says it. What the search cannot
 * answer is refused by name: a filter that is silently left out would list other people's idea of
 * the question. */
#include "api/dlc/documents.h"

#include "answer/jobs.h"
#include "answer/search.h"
#include "api/accounts.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/results.h"
#include "text/json.h"

#include <string.h>
#include <strings.h>

#define WEEK_MS   (7ull * 24 * 3600 * 1000)
#define TEXT_SIZE ((size_t)4 << 20)

/* ---- which job ---- */

bool dlc_by_token(struct dlc_call *d, uint64_t id)
{
    const char *token = dlc_query(d, "Token");
    struct identity who;
    struct err err;
    uint64_t meant;
    if (!token)
        token = dlc_query(d, "token");
    if (!token || identify_by_token(ctl_accounts(d->ctl), d->arena, token, &who, &err) ||
        !who.job || !job_id_parse(who.job, &meant) || meant != id ||
        !answer_may_read(d->ctl, &who, id))
        return false;
    facade_admit(d->call, &who);
    return true;
}

bool dlc_job(struct dlc_call *d, const char *text, uint64_t *id)
{
    const struct identity *who = &d->call->who;
    uint64_t meant;
    if (job_id_parse(text, id) && (!who->job || (job_id_parse(who->job, &meant) && meant == *id)) &&
        (answer_may_read(d->ctl, who, *id) ||
         (!(d->op->flags & DLC_WRITES) && dlc_by_token(d, *id))))
        return true;
    dlc_fail(d, 404, "NotFound", "no job \"%.100s\"", text);
    return false;
}

void dlc_get_job(struct dlc_call *d)
{
    uint64_t id;
    if (!dlc_job(d, d->param[0], &id))
        return;
    struct text_node *job = dlc_job_item(d, id);
    if (!job)
        dlc_fail(d, 404, "NotFound", "no job \"%.100s\"", d->param[0]);
    else if (dlc_query_flag(d, "NeedDetail", true))
        dlc_answer_item(d, id, job);
    else
        dlc_ok(d, job);
}

/* ---- create ---- */

static void created(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    char id[DLC_JOB_ID_TEXT];
    if (!dlc_done(d, answer))
        return;
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "JobId", dlc_job_id(id, answer->job));
    const struct text_node *warnings = answer->made.submitted->warnings;
    for (const struct text_node *one = warnings ? warnings->first : NULL; one; one = one->next)
        if (dlc_text(one, "what"))
            dlc_note(d, "%s", dlc_text(one, "what"));
    dlc_ok(d, out);
}

void dlc_create_job(struct dlc_call *d)
{
    const struct text_node *body;
    AUTO_BUF struct buf text = BUF_INIT(TEXT_SIZE);
    if (!dlc_spend(d, LIMIT_SUBMIT) || !dlc_template_apply(d, &body))
        return;
    json_print(body, 0, &text);
    call_keep(d->call);
    accounts_submit(d->call,
                    &(struct submission){ .owner = d->call->owner,
                                          .text = buf_str(&text),
                                          .len = text.len,
                                          .from = "dlc",
                                          .key = dlc_header(d, "Idempotency-Key") },
                    created, d);
}

/* ---- list ---- */

struct listing {
    struct dlc_call *d;
    struct job_query q;
    struct job_value types[3], oversold[2], access[2];
};

static struct words words_of(struct arena *a, const char *list)
{
    struct words out = { .at = ARENA_ARRAY(a, strlen(list) / 2 + 2, const char *) };
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (*at != ',')
            out.at[out.n++] = arena_strndup(a, at, strcspn(at, ","));
    return out;
}

static bool read_status(struct listing *l)
{
    const char *status = dlc_query(l->d, "Status");
    size_t n;
    const struct dlc_status *all = dlc_statuses(&n);
    bool known = !status;
    for (size_t i = 0; status && i < n; i++) {
        if (strcasecmp(all[i].word, status) != 0)
            continue;
        known = true;
        /* Nothing here has it: an empty list, by a state that no row has. */
        l->q.states |= 1u << all[i].state;
    }
    if (!known)
        dlc_fail(l->d, 400, "InvalidParameter", "Status is \"%.40s\", and there is no such one",
                 status);
    return known;
}

static bool read_tags(struct listing *l)
{
    static const char *const labels[] = { "BusinessUserId", "Caller", "PipelineId" };
    struct dlc_call *d = l->d;
    const char *text = dlc_query(d, "Tags");
    struct report report;
    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        if (dlc_query(d, labels[i]))
            pairs_set(&l->q.labels, d->arena, labels[i], dlc_query(d, labels[i]));
    if (!text)
        return true;
    report_init(&report, d->arena);
    const struct text_node *root = json_parse(d->arena, text, strlen(text), 0, &report);
    bool good = root && root->kind == TEXT_MAP;
    for (const struct text_node *one = good ? root->first : NULL; one; one = one->next) {
        good = good && one->str;
        pairs_set(&l->q.labels, d->arena, one->key, one->str ? one->str : "");
    }
    if (!good)
        dlc_fail(d, 400, "InvalidParameter", "Tags is not a JSON object of texts: {\"a\":\"b\"}");
    return good;
}

/* Jobs of other formats are of the type that they would be said to be. */
static void read_type(struct listing *l)
{
    static const struct {
        const char *type, *framework;
    } kinds[] = { { "TFJob", "tensorflow" }, { "PyTorchJob", "pytorch" },
                  { "MPIJob", "mpi" },       { "XGBoostJob", "xgboost" },
                  { "RayJob", "ray" },       { "OneFlowJob", "oneflow" },
                  { "SlurmJob", "slurm" },   { "ElasticBatchJob", "elasticbatch" } };
    const char *type = dlc_query(l->d, "JobType");
    if (!type)
        return;
    size_t n = 0;
    l->types[n++] = (struct job_value){ "type", type, false };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].type, type) == 0)
            l->types[n++] = (struct job_value){ "type", kinds[i].framework, false };
    if (strcmp(type, "PyTorchJob") == 0)
        l->types[n++] = (struct job_value){ "type", "", false };
    l->q.values[0] = (struct job_values){ l->types, n };
}

static void read_classes(struct listing *l)
{
    const char *oversold = dlc_query(l->d, "OversoldInfo");
    const char *access = dlc_query(l->d, "Accessibility");
    const char *payment = dlc_query(l->d, "PaymentType");
    if (oversold) {
        bool force = strncmp(oversold, "Force", 5) == 0,
             accept = strncmp(oversold, "Accept", 6) == 0;
        l->oversold[0] = (struct job_value){ "capacity",
                                             force    ? "idle"
                                             : accept ? "any"
                                                      : "",
                                             !force && !accept };
        l->q.values[1] = (struct job_values){ l->oversold, 1 };
    }
    if (access) {
        l->access[0] = (struct job_value){ "access", access, false };
        l->access[1] = (struct job_value){ "access", NULL, true };
        l->q.values[2] = (struct job_values){ l->access, strcmp(access, "PRIVATE") == 0 ? 2 : 1 };
    }
    if (payment && strcmp(payment, "PostPaid") == 0)
        l->q.queue = DLC_PUBLIC_QUEUE;
    else if (payment && strcmp(payment, "PrePaid") == 0)
        l->q.queue_not = DLC_PUBLIC_QUEUE;
    else if (payment)
        l->q.texts[3] = (struct job_text){ "spot", "" };
}

static void read_place(struct listing *l)
{
    struct dlc_call *d = l->d;
    const char *space = dlc_query(d, "WorkspaceId");
    const char *quota = dlc_query(d, "ResourceId");
    const char *user = dlc_query(d, "UserIdForFilter");
    if (space && !dlc_query_flag(d, "FromAllWorkspaces", false)) {
        l->q.in = (struct words){ .at = ARENA_ARRAY(d->arena, 2, const char *) };
        l->q.in.at[l->q.in.n++] = space;
        if (strcmp(space, "default") == 0)
            l->q.in.at[l->q.in.n++] = "";
    }
    l->q.queue = quota ? quota : dlc_query(d, "ResourceQuotaName");
    l->q.owner = user ? user : dlc_query(d, "Username");
    if (dlc_query_flag(d, "ShowOwn", false))
        l->q.owner = d->call->owner;
}

/* Of each of these the search takes one; a second one that says something else is no filter that
 * could be left out. */
static bool no_second(struct dlc_call *d)
{
    static const char *const pairs[][2] = { { "ResourceId", "ResourceQuotaName" },
                                            { "UserIdForFilter", "Username" },
                                            { "JobId", "JobIds" } };
    const char *users[] = { dlc_query(d, "UserIdForFilter"), dlc_query(d, "Username") };
    const char *payment = dlc_query(d, "PaymentType");
    const char *quota = dlc_query(d, "ResourceId");
    bool own = dlc_query_flag(d, "ShowOwn", false);
    const char *a = NULL, *b = NULL;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        const char *one = dlc_query(d, pairs[i][0]), *two = dlc_query(d, pairs[i][1]);
        if (one && two && strcmp(one, two) != 0) {
            a = pairs[i][0];
            b = pairs[i][1];
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(users); i++)
        if (own && users[i] && strcmp(users[i], d->call->owner) != 0) {
            a = "ShowOwn";
            b = i ? "Username" : "UserIdForFilter";
        }
    quota = quota ? quota : dlc_query(d, "ResourceQuotaName");
    if (quota && payment && strcmp(payment, "PostPaid") == 0 &&
        strcmp(quota, DLC_PUBLIC_QUEUE) != 0) {
        a = "PaymentType PostPaid";
        b = "a quota";
    }
    if (a)
        dlc_fail(d, 400, "InvalidParameter", "%s and %s say different things: ask with one of them",
                 a, b);
    return !a;
}

static void read_texts(struct listing *l)
{
    static const char *const texts[][2] = { { "UserCommandSearch", "run" },
                                            { "ImageSearch", "image" },
                                            { "Description", "description" } };
    struct dlc_call *d = l->d;
    const char *one = dlc_query(d, "JobId"), *many = dlc_query(d, "JobIds");
    l->q.name_has = dlc_query(d, "DisplayName");
    l->q.reason_has = dlc_query(d, "ReasonSearch");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        l->q.texts[i] = (struct job_text){ texts[i][1], dlc_query(d, texts[i][0]) };
    if (one || many)
        l->q.ids = words_of(d->arena, one ? one : many);
}

static bool read_order(struct listing *l)
{
    static const struct {
        const char *word;
        enum job_order order;
    } orders[] = { { "GmtCreateTime", JOBS_BY_ID },  { "GmtSubmittedTime", JOBS_BY_ID },
                   { "DisplayName", JOBS_BY_NAME },  { "Status", JOBS_BY_STATE },
                   { "GmtFinishTime", JOBS_BY_END }, { "Priority", JOBS_BY_PRIORITY },
                   { "JobType", JOBS_BY_TYPE } };
    const char *by = dlc_query(l->d, "SortBy");
    for (size_t i = 0; by && i < ARRAY_LEN(orders); i++)
        if (strcasecmp(by, orders[i].word) == 0) {
            l->q.order = orders[i].order;
            by = NULL;
        }
    if (by)
        dlc_fail(l->d, 400, "InvalidParameter",
                 "SortBy is \"%.40s\"; DisplayName, JobType, Status, GmtCreateTime and "
                 "GmtFinishTime are known",
                 by);
    return !by && dlc_order(l->d, false, &l->q.ascending);
}

void dlc_list_jobs(struct dlc_call *d)
{
    struct listing l = { .d = d };
    struct facade_page page;
    struct search_page found;
    struct err err;
    if (!no_second(d) || !dlc_spend(d, LIMIT_LIST))
        return;
    read_place(&l);
    read_type(&l);
    read_classes(&l);
    read_texts(&l);
    if (!dlc_page(d, 10, &page) || !read_status(&l) || !read_tags(&l) || !read_order(&l) ||
        !dlc_query_time(d, "StartTime", &l.q.since_ms) ||
        !dlc_query_time(d, "EndTime", &l.q.until_ms))
        return;
    if (!l.q.since_ms && !l.q.ids.n)
        l.q.since_ms = (l.q.until_ms ? l.q.until_ms : d->now_ms) - WEEK_MS;
    l.q.offset = page.offset;
    l.q.limit = page.limit;
    if (answer_search(d->ctl, d->arena, &d->call->who, &l.q, &found, &err)) {
        dlc_err(d, &err, NULL);
        return;
    }
    struct text_node *out = dlc_map(d), *jobs = text_list(d->arena, out, "Jobs");
    for (size_t i = 0; i < found.n; i++) {
        const struct text_node *job = dlc_job_item(d, found.ids[i]);
        if (job)
            text_copy(d->arena, jobs, NULL, job);
    }
    text_int(d->arena, out, "TotalCount", (int64_t)found.total);
    dlc_ok(d, out);
}

/* ---- change ---- */

static struct text_node *job_answer(struct dlc_call *d, uint64_t id)
{
    char text[DLC_JOB_ID_TEXT];
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "JobId", dlc_job_id(text, id));
    return out;
}

static void command(struct dlc_call *d, enum ctl_verb verb)
{
    uint64_t id;
    if (!dlc_job(d, d->param[0], &id))
        return;
    d->more = job_answer(d, id);
    call_keep(d->call);
    ctl_command(d->ctl, d->call->owner, id, verb, dlc_done_plain, d);
}

void dlc_stop_job(struct dlc_call *d)
{
    command(d, CTL_STOP);
}

void dlc_delete_job(struct dlc_call *d)
{
    command(d, CTL_DELETE);
}

/* What is said of a job beside what it was submitted with. */
static void put_note(struct dlc_call *d, uint64_t id)
{
    static const char *const keys[] = { "Accessibility", "Description" };
    char text[JOB_ID_TEXT];
    struct text_node *note = dlc_map(d);
    const struct text_node *was =
        dlc_spec(dlc_object(d, "job.note", job_id_format(text, id), "dlc"));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        bool said = text_get(d->body, keys[i]);
        dlc_copy(d->arena, note, said ? d->body : was, keys[i]);
        if (said)
            dlc_note(d, "ListJobs goes on finding it by the %s it was submitted with", keys[i]);
    }
    struct document object = { "job.note", arena_strdup(d->arena, text), "dlc", note };
    dlc_store(d, &object, false, job_answer(d, id));
}

static void prioritized(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    if (dlc_done(d, answer))
        put_note(d, answer->job);
}

/* Only a job of a quota that waits has a use for one; of others the service says 200 and does
 * nothing. false: answered. */
static bool may_prioritize(struct dlc_call *d, const struct job_view *job, uint64_t priority)
{
    if (priority < 1 || priority > JOB_PRIORITY)
        dlc_fail(d, 400, "InvalidParameter", "Priority is %llu, not 1 to %u",
                 (unsigned long long)priority, JOB_PRIORITY);
    else if (strcmp(job->queue, DLC_PUBLIC_QUEUE) == 0)
        dlc_fail(d, 400, "NotSupported",
                 "Priority has no effect on public resources: it orders the jobs of a quota "
                 "(ResourceId)");
    else if (job->state != JOB_QUEUED && job->state != JOB_SUSPENDED)
        dlc_fail(d, 400, "BadRequest", "the job is %s: Priority counts while it is Queuing",
                 job->word ? job->word : "");
    else
        return true;
    return false;
}

/* What a job was submitted with stays; its turn, who may look at it and what is said of it may
 * change. */
void dlc_update_job(struct dlc_call *d)
{
    struct job_ask ask = { .owner = d->call->owner };
    struct job_view job = { 0 };
    uint64_t wanted = 0;
    if (!dlc_job(d, d->param[0], &ask.job))
        return;
    bool there = answer_job_view(d->ctl, d->arena, &ask, &job, NULL) == 0;
    const char *priority = dlc_text(d->body, "Priority");
    bool said = priority && scan_u64(priority, 0, UINT32_MAX, &wanted);
    if (!there || !said || wanted == job.priority) {
        put_note(d, ask.job);
        return;
    }
    if (!may_prioritize(d, &job, wanted))
        return;
    call_keep(d->call);
    ctl_command(d->ctl, d->call->owner, ask.job, (enum ctl_verb)(CTL_PRIORITY + wanted),
                prioritized, d);
}
