/* One job: its detail in both versions, its earlier starts, its events. Exit codes and phrases are
 * those of the job's convention, whatever format it came in. */
#include "api/openpai/pai.h"
#include "api/view_trees.h"
#include "api/work.h"

#include "base/mem.h"
#include "ctl/pages.h"
#include "ctl/views.h"
#include "dialect/openpai/openpai.h"

#include <ctype.h>
#include <string.h>

#define EVENTS_PAGE 1000u
#define EVENTS_MAX  10000u
#define IN_PAGES    (TREE_TASKS_EMPTY | CTL_SPEC)

static bool is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static void put_code(struct arena *a, struct text_node *out, const char *key, bool known,
                     int64_t code)
{
    if (known)
        text_int(a, out, key, code);
    else
        text_null(a, out, key);
}

/* ---- how it ended ---- */

struct end {
    bool known;
    int64_t code;
    const struct text_node *task, *attempt; /* that failed it */
};

/* A start that is over, and not the last one that ended well or was stopped. */
static bool has_failed(const struct text_node *job, uint64_t n)
{
    return n != pai_attempt_of(job) || is(pai_text(job, "state"), "failed");
}

static struct end end_of(const struct pai *p, const struct pai_start *start)
{
    const char *state = pai_text(start->job, "state");
    struct end end = { .known = true };
    if (!has_failed(start->job, start->n)) {
        end.known = is(state, "succeeded") || is(state, "stopped");
        end.code = is(state, "stopped") ? pai_stop_code(p->version, true) : 0;
        return end;
    }
    end.task = start->culprit;
    size_t count = end.task ? pai_attempts(end.task, start->n) : 0;
    end.attempt = count ? pai_attempt(end.task, start->n, count - 1) : NULL;
    end.known = pai_exit_code(p->version, end.attempt, &end.code);
    return end;
}

static void put_spec(struct pai *p, struct text_node *out, const struct end *end)
{
    if (!end->known) {
        text_null(p->a, out, "appExitSpec");
        return;
    }
    const struct openpai_exit *row = openpai_exit_find((int)end->code);
    struct text_node *spec = text_map(p->a, out, "appExitSpec");
    text_int(p->a, spec, "code", end->code);
    const char *phrase = pai_text(end->attempt, "phrase");
    text_str(p->a, spec, "phrase", phrase ? phrase : row->phrase);
    if (p->version == PAI_V1) {
        pai_put_text(p->a, spec, "causer", row->causer);
        pai_put_text(p->a, spec, "type", row->type);
    } else {
        pai_put_text(p->a, spec, "type", pai_text(end->attempt, "class"));
    }
    const char *text = pai_text(end->attempt, "text");
    text_str(p->a, spec, "reason", text ? text : row->text);
}

static void put_end(struct pai *p, struct text_node *out, const struct pai_start *start)
{
    struct arena *a = p->a;
    const struct end end = end_of(p, start);
    const char *tail = pai_text(end.attempt, "tail");
    const char *reason = is(pai_job_word(p->version, &p->row), "WAITING") || end.attempt
                             ? pai_text(start->job, "reason")
                             : NULL;
    put_code(a, out, "appExitCode", end.known, end.code);
    put_spec(p, out, &end);
    pai_put_text(a, out, "appExitDiagnostics", reason);
    struct text_node *messages = text_map(a, out, "appExitMessages");
    pai_put_text(a, messages, "container", tail);
    text_null(a, messages, "runtime");
    pai_put_text(a, messages, "launcher", pai_text(end.attempt, "reason"));
    pai_put_text(a, out, "appExitTriggerMessage", pai_text(end.attempt, "text"));
    pai_put_text(a, out, "appExitTriggerTaskRoleName", pai_text(end.task, "role"));
    put_code(a, out, "appExitTriggerTaskIndex", end.task != NULL,
             (int64_t)pai_number(end.task, "index"));
    pai_put_text(a, out, "appExitType", pai_text(end.attempt, "class"));
}

/* ---- the detail ---- */

static const struct pai_field app_fields[] = {
    { "appLaunchedTime", "started_ms", PAI_MS, PAI_BOTH },
    { "appCreatedTime", "submitted_ms", PAI_MS, PAI_V2 },
    { "appCompletedTime", "ended_ms", PAI_MS, PAI_BOTH },
};

/* A job's name in OpenPAI: the owner's, whatever name it was asked for by. */
static const char *frame_of(struct arena *a, const struct text_node *job)
{
    return arena_printf(a, "%s~%s", pai_text(job, "owner"), pai_text(job, "name"));
}

struct text_node *pai_detail(struct pai *p, const struct pai_start *start)
{
    struct arena *a = p->a;
    const struct text_node *job = start->job;
    struct pai_tags tags;
    const char *frame = frame_of(a, job);
    bool ended = pai_number(job, "ended_ms") > 0;
    struct text_node *out = text_map(a, NULL, NULL);
    if (p->version == PAI_V2)
        text_str(a, out, "debugId", pai_debug_id(a, frame));
    text_str(a, out, "name", pai_text(job, "name"));
    if (p->version == PAI_V2) {
        pai_tags_load(p, pai_text(job, "id"), &tags);
        const struct words own = pai_tags_of(a, &tags, pai_text(job, "id"));
        pai_out_words(&(struct pai_out){ .a = a, .tree = out }, "tags", &own);
        pai_put_text(a, out, "jobPriority", pai_priority(pai_number(job, "priority")));
        text_str(a, out, "frameworkName", frame);
    }
    struct text_node *status = text_map(a, out, "jobStatus");
    text_str(a, status, "name", frame);
    pai_out_status(&(struct pai_out){ .a = a, .tree = status }, p->version, &p->row);
    text_str(a, status, "appId", pai_text(job, "id"));
    text_int(a, status, "appProgress", ended);
    text_str(a, status, "appTrackingUrl", "");
    pai_put_fields(p, status, app_fields, ARRAY_LEN(app_fields), job);
    put_end(p, status, start);
    if (p->version == PAI_V2) {
        text_int(a, status, "attemptId", (int64_t)start->n);
        text_str(a, status, "attemptState", pai_job_word(p->version, &p->row));
    }
    return out;
}

/* ---- its tasks, a page at a time ---- */

struct detail {
    struct pai *p;
    struct pai_start start;
    struct ctl_pages *pages;
    uint64_t failed_ms;           /* the culprit so far */
    const struct text_node *role; /* whose tasks are being put, of the job's canonical form */
    struct arena *ahead;          /* a page that is read and not put, or NULL */
    struct text_node *page;
    bool more; /* pages after it */
};

static void drop_page(struct detail *d)
{
    arena_destroy(d->ahead);
    d->ahead = NULL;
}

static void detail_close(void *detail)
{
    struct detail *d = detail;
    drop_page(d);
    ctl_pages_close(d->pages);
}

static bool open_pages(struct detail *d, struct err *err)
{
    d->more = true;
    d->pages = ctl_pages_open(d->p->ctl, d->p->id, d->p->as, err);
    return d->pages != NULL;
}

static int read_page(struct detail *d, struct err *err)
{
    d->ahead = arena_create();
    d->page = text_list(d->ahead, NULL, NULL);
    struct task_list tasks;
    int more = ctl_pages_tasks(d->pages, d->ahead, &tasks, err);
    trees_of_tasks(d->ahead, d->page, &tasks);
    d->more = more > 0;
    return more < 0 ? -1 : 0;
}

/* Tasks of a page are of one role; those of another one are kept for its list. */
static int add_tasks(void *detail, struct arena *arena, struct text_node *to, struct err *err)
{
    struct detail *d = detail;
    struct pai page = *d->p;
    page.a = arena;
    if (!d->ahead && d->more && read_page(d, err))
        return -1;
    const struct text_node *one = d->ahead ? d->page->first : NULL;
    if (!one || !is(pai_text(one, "role"), d->role->key)) {
        d->role = d->role->next;
        return 0;
    }
    for (; one; one = one->next)
        pai_put_task(&page, to, d->start.job, one, d->start.n);
    drop_page(d);
    return 1;
}

static void answer_filled(struct detail *d)
{
    struct arena *a = d->p->a;
    struct text_node *out = pai_detail(d->p, &d->start), *roles = text_map(a, out, "taskRoles");
    const struct text_node *spec = text_get(d->start.job, "spec");
    const struct text_node *all = spec ? text_get(spec, "roles") : NULL;
    struct long_list *lists = ARENA_ARRAY(a, all ? all->count : 0, struct long_list);
    size_t n = 0;
    d->role = all ? all->first : NULL;
    for (const struct text_node *one = d->role; one; one = one->next)
        lists[n++] =
            (struct long_list){ .list = pai_put_role(a, roles, one->key), .add = add_tasks };
    answer_long(d->p->call,
                &(struct long_answer){
                    .tree = out, .lists = lists, .n = n, .arg = d, .close = detail_close });
}

/* Who failed it is said before its tasks are. */
static bool find_culprit(void *detail)
{
    struct detail *d = detail;
    struct err err;
    bool failed = read_page(d, &err) < 0;
    for (const struct text_node *one = failed ? NULL : d->page->first; one; one = one->next)
        if (pai_failed_before(one, d->start.n, &d->failed_ms))
            d->start.culprit = text_copy(d->p->a, NULL, NULL, one);
    drop_page(d);
    if (!failed && d->more)
        return true;
    detail_close(d);
    if (failed || !open_pages(d, &err))
        pai_err(d->p, &err, NULL);
    else
        answer_filled(d);
    return false;
}

static void answer_detail(struct pai *p, const struct text_node *job, uint64_t n)
{
    struct err err;
    struct detail *d = ARENA_NEW(p->a, struct detail);
    *d = (struct detail){ .p = p, .start = { .job = job, .n = n }, .failed_ms = UINT64_MAX };
    if (!open_pages(d, &err))
        pai_err(p, &err, NULL);
    else if (has_failed(job, n))
        answer_work(p->call,
                    &(struct answer_work){ .step = find_culprit, .left = detail_close, .arg = d });
    else
        answer_filled(d);
}

void pai_job_detail(struct pai *p)
{
    const struct text_node *job = pai_find_job(p) ? pai_job_tree(p, IN_PAGES) : NULL;
    if (job)
        answer_detail(p, job, pai_attempt_of(job));
}

static bool find_start(struct pai *p, unsigned parts, const struct text_node **job, uint64_t *n)
{
    *job = pai_find_job(p) ? pai_job_tree(p, parts) : NULL;
    if (!*job)
        return false;
    if (pai_number_of(p->param[1], n) && *n <= pai_attempt_of(*job))
        return true;
    pai_fail(p, PAI_NO_JOB, "JobAttemptId %.40s is not found in %.600s.", p->param[1], p->frame);
    return false;
}

void pai_job_attempt(struct pai *p)
{
    const struct text_node *job;
    uint64_t n;
    if (find_start(p, IN_PAGES, &job, &n))
        answer_detail(p, job, n);
}

/* ---- starts ---- */

void pai_job_attempts_health(struct pai *p)
{
    if (pai_find_job(p))
        call_text(p->call, 200, "text/html; charset=utf-8", "ok", 2);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return !a || (b && b < a) ? b : a;
}

struct span {
    uint64_t placed, started, ended;
    size_t roles;
};

/* From the first task that was placed to the last that ended, in that start. */
static struct span span_of(const struct text_node *job, uint64_t n)
{
    struct span s = { 0 };
    const struct text_node *list = text_get(job, "task_list");
    const char *role = NULL;
    for (const struct text_node *task = list ? list->first : NULL; task; task = task->next) {
        s.roles += !is(pai_text(task, "role"), role ? role : "");
        role = pai_text(task, "role");
        for (size_t k = pai_attempts(task, n); k-- > 0;) {
            const struct text_node *one = pai_attempt(task, n, k);
            uint64_t ended = pai_number(one, "ended_ms");
            s.placed = least(s.placed, pai_number(one, "placed_ms"));
            s.started = least(s.started, pai_number(one, "started_ms"));
            s.ended = ended > s.ended ? ended : s.ended;
        }
    }
    return s;
}

static struct text_node *put_start(struct pai *p, struct text_node *list,
                                   const struct text_node *job, uint64_t n)
{
    struct arena *a = p->a;
    bool latest = n == pai_attempt_of(job);
    const struct span span = span_of(job, n);
    const struct pai_start start = { .job = job, .culprit = pai_culprit(job, n), .n = n };
    const struct end end = end_of(p, &start);
    const char *frame = frame_of(a, job);
    struct text_node *out = text_map(a, list, NULL);
    text_str(a, out, "jobName", pai_text(job, "name"));
    text_str(a, out, "frameworkName", frame);
    text_str(a, out, "uid", pai_text(job, "id"));
    text_str(a, out, "userName", pai_text(job, "owner"));
    text_str(a, out, "state", latest ? pai_job_word(p->version, &p->row) : "FAILED");
    text_str(a, out, "originState", latest ? pai_sub_state(&p->row) : "AttemptCompleted");
    text_int(a, out, "attemptIndex", (int64_t)n);
    pai_put_ms(a, out, "jobStartedTime", pai_number(job, "submitted_ms"));
    pai_put_ms(a, out, "attemptStartedTime", span.started ? span.started : span.placed);
    pai_put_ms(a, out, "attemptCompletedTime", latest ? pai_number(job, "ended_ms") : span.ended);
    put_code(a, out, "exitCode", end.known, end.code);
    pai_put_text(a, out, "exitPhrase", pai_text(end.attempt, "phrase"));
    pai_put_text(a, out, "exitType", pai_text(end.attempt, "class"));
    pai_put_text(a, out, "exitDiagnostics", pai_text(end.attempt, "reason"));
    put_end(p, out, &start);
    static const struct pai_field sizes[] = {
        { "totalGpuNumber", "gpu_milli", PAI_DEVICES, PAI_BOTH },
        { "totalTaskNumber", "tasks", PAI_COUNT, PAI_BOTH },
    };
    pai_put_fields(p, out, sizes, ARRAY_LEN(sizes), job);
    text_int(a, out, "totalTaskRoleNumber", (int64_t)span.roles);
    pai_put_text(a, out, "jobPriority", pai_priority(pai_number(job, "priority")));
    pai_put_roles(p, out, job, n);
    text_bool(a, out, "isLatest", latest);
    return out;
}

void pai_job_attempts(struct pai *p)
{
    const struct text_node *job = pai_find_job(p) ? pai_job_tree(p, CTL_TASKS) : NULL;
    if (!job)
        return;
    struct text_node *list = text_list(p->a, NULL, NULL);
    for (uint64_t n = pai_attempt_of(job) + 1; n-- > 0;)
        put_start(p, list, job, n);
    pai_answer(p, 200, list);
}

void pai_job_attempts_one(struct pai *p)
{
    const struct text_node *job;
    uint64_t n;
    if (find_start(p, CTL_TASKS, &job, &n))
        pai_answer(p, 200, put_start(p, NULL, job, n));
}

/* ---- events ---- */

/* "task.started" -> "TaskStarted" */
static const char *reason_of(struct arena *a, const char *type)
{
    char *text = arena_strdup(a, type), *out = text;
    bool upper = true;
    for (const char *c = type; *c; c++) {
        if (*c == '.' || *c == '_') {
            upper = true;
            continue;
        }
        *out++ = upper ? (char)toupper((unsigned char)*c) : *c;
        upper = false;
    }
    *out = '\0';
    return text;
}

static bool warns(const char *type)
{
    static const char *const types[] = {
        "failed",        "restart", "task_retry",    "task.failed", "task.retry",
        "member.failed", "refused", "launch.failed", "launch.lost",
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

static void put_event(struct pai *p, struct text_node *list, const struct text_node *event)
{
    struct arena *a = p->a;
    const char *type = pai_text(event, "type"), *text = pai_text(event, "text");
    const char *task = pai_text(event, "task"), *slash = task ? strrchr(task, '/') : NULL;
    struct text_node *out = text_map(a, list, NULL);
    uint64_t at = pai_number(event, "at_ms"), index = 0;
    text_str(a, out, "uid", arena_printf(a, "%llu", (unsigned long long)pai_number(event, "seq")));
    text_str(a, out, "frameworkName", p->frame);
    text_null(a, out, "podUid");
    pai_put_text(a, out, "taskroleName", pai_text(event, "role"));
    pai_put_text(a, out, "taskName", task);
    if (slash && pai_number_of(slash + 1, &index))
        text_int(a, out, "taskIndex", (int64_t)index);
    else
        text_null(a, out, "taskIndex");
    text_str(a, out, "type", warns(type) ? "Warning" : "Normal");
    text_str(a, out, "reason", reason_of(a, type));
    text_str(a, out, "message", text ? text : type);
    pai_put_ms(a, out, "firstTimestamp", at);
    pai_put_ms(a, out, "lastTimestamp", at);
    text_int(a, out, "count", 1);
    text_str(a, out, "sourceComponent", "muster");
    pai_put_text(a, out, "sourceHost", pai_text(text_get(event, "body"), "node"));
}

void pai_job_events(struct pai *p)
{
    const char *type = http_query(p->call->request, "type", 0);
    if (!pai_find_job(p))
        return;
    const struct text_node **all = ARENA_ARRAY(p->a, EVENTS_MAX, const struct text_node *);
    struct text_node *page;
    struct ctl_events ask = { .reader = p->as, .job = p->id, .limit = EVENTS_PAGE };
    size_t n = 0;
    do { /* oldest first; the newest are kept */
        page = tree_of_events(p->ctl, p->a, &ask, NULL);
        for (const struct text_node *one = page ? page->first : NULL; one; one = one->next) {
            bool warning = warns(pai_text(one, "type"));
            ask.after = pai_number(one, "seq");
            if (!type || (warning ? is(type, "Warning") : is(type, "Normal")))
                all[n++ % EVENTS_MAX] = one;
        }
    } while (page && page->count == EVENTS_PAGE);
    size_t kept = n < EVENTS_MAX ? n : EVENTS_MAX;
    struct text_node *out = text_map(p->a, NULL, NULL);
    text_int(p->a, out, "totalCount", (int64_t)kept);
    struct text_node *data = text_list(p->a, out, "data");
    for (size_t i = 0; i < kept; i++)
        put_event(p, data, all[(n - 1 - i) % EVENTS_MAX]);
    pai_answer(p, 200, out);
}
