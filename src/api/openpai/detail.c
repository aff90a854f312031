/* One job: its detail in both versions, its earlier starts, its events. Exit codes and phrases are
 * those of the job's convention, whatever format it came in. */
#include "api/openpai/detail.h"

#include "answer/events.h"
#include "api/openpai/attempts.h"
#include "api/openpai/job.h"
#include "api/openpai/members.h"
#include "api/work.h"

#include "answer/pages.h"
#include "base/mem.h"
#include "base/vec.h"
#include "dialect/openpai/openpai.h"

#include <ctype.h>
#include <string.h>

#define EVENTS_PAGE 64u
#define EVENTS_MAX  10000u

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
    const struct task_view *task; /* that failed it, or NULL; and its attempt */
    const struct attempt_view *attempt;
};

/* A start that is over, and not the last one that ended well or was stopped. */
static bool has_failed(const struct job_view *job, uint64_t n)
{
    return n != pai_attempt_of(job) || job->state == JOB_FAILED;
}

static struct end end_of(const struct pai *p, const struct pai_start *start)
{
    enum job_state state = start->job->state;
    struct end end = { .known = true };
    if (!has_failed(start->job, start->n)) {
        end.known = state == JOB_SUCCEEDED || state == JOB_STOPPED;
        end.code = state == JOB_STOPPED ? pai_stop_code(p->version, true) : 0;
        return end;
    }
    end.task = start->culprit;
    end.attempt = end.task ? pai_last_attempt(end.task, start->n) : NULL;
    end.known = pai_exit_code(p->version, end.attempt, &end.code);
    return end;
}

static void put_spec(struct pai *p, struct text_node *out, const struct end *end)
{
    const struct attempt_view *attempt = end->attempt;
    if (!end->known) {
        text_null(p->a, out, "appExitSpec");
        return;
    }
    const struct openpai_exit *row = openpai_exit_find((int)end->code);
    struct text_node *spec = text_map(p->a, out, "appExitSpec");
    const char *phrase = attempt ? pai_said(attempt->phrase) : NULL;
    const char *text = attempt ? pai_said(attempt->text) : NULL;
    text_int(p->a, spec, "code", end->code);
    text_str(p->a, spec, "phrase", phrase ? phrase : row->phrase);
    if (p->version == PAI_V1) {
        pai_put_text(p->a, spec, "causer", row->causer);
        pai_put_text(p->a, spec, "type", row->type);
    } else {
        pai_put_text(p->a, spec, "type", pai_end_class(attempt));
    }
    text_str(p->a, spec, "reason", text ? text : row->text);
}

static void put_end(struct pai *p, struct text_node *out, const struct pai_start *start)
{
    static const struct attempt_view none;
    struct arena *a = p->a;
    const struct end end = end_of(p, start);
    const struct attempt_view *attempt = end.attempt ? end.attempt : &none;
    bool told = is(pai_job_word(p->version, &p->row), "WAITING") || end.attempt;
    put_code(a, out, "appExitCode", end.known, end.code);
    put_spec(p, out, &end);
    pai_put_text(a, out, "appExitDiagnostics", told ? pai_said(start->job->reason) : NULL);
    struct text_node *messages = text_map(a, out, "appExitMessages");
    pai_put_text(a, messages, "container", pai_said(attempt->tail));
    text_null(a, messages, "runtime");
    pai_put_text(a, messages, "launcher", pai_said(attempt->reason));
    pai_put_text(a, out, "appExitTriggerMessage", pai_said(attempt->text));
    pai_put_text(a, out, "appExitTriggerTaskRoleName", end.task ? end.task->role : NULL);
    put_code(a, out, "appExitTriggerTaskIndex", end.task != NULL,
             end.task ? (int64_t)end.task->index : 0);
    pai_put_text(a, out, "appExitType", pai_end_class(attempt));
}

/* ---- the detail ---- */

/* A job's name in OpenPAI: the owner's, whatever name it was asked for by. */
static const char *frame_of(struct arena *a, const struct job_view *job)
{
    return arena_printf(a, "%s~%s", job->owner, job->name);
}

struct text_node *pai_detail(struct pai *p, const struct pai_start *start)
{
    struct arena *a = p->a;
    const struct job_view *job = start->job;
    struct document_list tags;
    char text[JOB_ID_TEXT];
    const char *frame = frame_of(a, job);
    const char *id = arena_strdup(a, job_id_format(text, job->id));
    struct text_node *out = text_map(a, NULL, NULL);
    if (p->version == PAI_V2)
        text_str(a, out, "debugId", pai_debug_id(a, frame));
    text_str(a, out, "name", job->name);
    if (p->version == PAI_V2) {
        pai_tags_load(p, id, &tags);
        const struct words own = pai_tags_of(a, &tags, id);
        pai_write_words(&(struct pai_writer){ .a = a, .tree = out }, "tags", &own);
        pai_put_text(a, out, "jobPriority", pai_priority(job->priority));
        text_str(a, out, "frameworkName", frame);
    }
    struct text_node *status = text_map(a, out, "jobStatus");
    text_str(a, status, "name", frame);
    pai_write_status(&(struct pai_writer){ .a = a, .tree = status }, p->version, &p->row);
    text_str(a, status, "appId", id);
    text_int(a, status, "appProgress", job->ended_ms > 0);
    text_str(a, status, "appTrackingUrl", "");
    pai_put_ms(a, status, "appLaunchedTime", job->started_ms);
    if (p->version == PAI_V2)
        pai_put_ms(a, status, "appCreatedTime", job->submitted_ms);
    pai_put_ms(a, status, "appCompletedTime", job->ended_ms);
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
    struct answer_pages *pages;
    uint64_t failed_ms;          /* the culprit so far, */
    struct arena *found;         /* and the page that it is on, or NULL */
    const struct job_spec *spec; /* NULL: cannot be read */
    size_t role;                 /* whose tasks are being put */
    struct arena *ahead;         /* a page that is read and not put, or NULL */
    struct task_list page;
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
    arena_destroy(d->found);
    d->found = NULL;
    answer_pages_close(d->pages);
    d->pages = NULL;
}

static bool open_pages(struct detail *d, struct err *err)
{
    d->more = true;
    d->pages = answer_pages_open(d->p->ctl, d->p->id, d->p->as, err);
    return d->pages != NULL;
}

static int read_page(struct detail *d, struct err *err)
{
    d->ahead = arena_create();
    int more = answer_pages_tasks(d->pages, d->ahead, &d->page, err);
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
    if (!d->ahead || !d->page.n || !is(d->page.at[0].role, d->spec->roles[d->role].name)) {
        d->role++;
        return 0;
    }
    for (size_t i = 0; i < d->page.n; i++)
        pai_put_task(&page, to, d->start.job, &d->page.at[i], d->start.n);
    drop_page(d);
    return 1;
}

static void answer_filled(struct detail *d)
{
    struct arena *a = d->p->a;
    struct report report;
    report_init(&report, a);
    struct text_node *out = pai_detail(d->p, &d->start), *roles = text_map(a, out, "taskRoles");
    d->spec = d->start.job->spec ? job_decode(a, d->start.job->spec, &report) : NULL;
    size_t n = d->spec ? d->spec->n_roles : 0;
    struct long_list *lists = ARENA_ARRAY(a, n, struct long_list);
    for (size_t i = 0; i < n; i++)
        lists[i] = (struct long_list){ .list = pai_put_role(a, roles, d->spec->roles[i].name),
                                       .add = add_tasks };
    answer_long(d->p->call,
                &(struct long_answer){
                    .tree = out, .lists = lists, .n = n, .arg = d, .close = detail_close });
}

/* Who failed it is said before its tasks are. */
static bool find_culprit(void *detail)
{
    struct detail *d = detail;
    struct err err;
    bool failed = read_page(d, &err) < 0, here = false;
    for (size_t i = 0; !failed && i < d->page.n; i++)
        if (pai_failed_before(&d->page.at[i], d->start.n, &d->failed_ms)) {
            d->start.culprit = &d->page.at[i];
            here = true;
        }
    if (here) {
        arena_destroy(d->found);
        d->found = d->ahead;
        d->ahead = NULL;
    }
    drop_page(d);
    if (!failed && d->more)
        return true;
    answer_pages_close(d->pages);
    if (failed || !open_pages(d, &err)) {
        d->pages = NULL;
        detail_close(d);
        pai_err(d->p, &err, NULL);
    } else {
        answer_filled(d);
    }
    return false;
}

static void answer_detail(struct pai *p, const struct job_view *job, uint64_t n)
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
    const struct job_view *job = pai_find_job(p) ? pai_job_view(p, JOB_SPEC) : NULL;
    if (job)
        answer_detail(p, job, pai_attempt_of(job));
}

static bool find_start(struct pai *p, unsigned parts, const struct job_view **job, uint64_t *n)
{
    *job = pai_find_job(p) ? pai_job_view(p, parts) : NULL;
    if (!*job)
        return false;
    if (pai_number_of(p->param[1], n) && *n <= pai_attempt_of(*job))
        return true;
    pai_fail(p, PAI_NO_JOB, "JobAttemptId %.40s is not found in %.600s.", p->param[1], p->frame);
    return false;
}

void pai_job_attempt(struct pai *p)
{
    const struct job_view *job;
    uint64_t n;
    if (find_start(p, JOB_SPEC, &job, &n))
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
};

/* From the first task that was placed to the last that ended, in that start. */
static void widen(struct span *s, const struct task_view *task, uint64_t n)
{
    for (size_t k = pai_attempts(task, n); k-- > 0;) {
        const struct attempt_view *one = pai_attempt(task, n, k);
        s->placed = least(s->placed, one->placed_ms);
        s->started = least(s->started, one->started_ms);
        s->ended = one->ended_ms > s->ended ? one->ended_ms : s->ended;
    }
}

static void put_exit(struct pai *p, struct text_node *out, const struct end *end)
{
    static const struct attempt_view none;
    const struct attempt_view *attempt = end->attempt ? end->attempt : &none;
    put_code(p->a, out, "exitCode", end->known, end->code);
    pai_put_text(p->a, out, "exitPhrase", pai_said(attempt->phrase));
    pai_put_text(p->a, out, "exitType", pai_end_class(attempt));
    pai_put_text(p->a, out, "exitDiagnostics", pai_said(attempt->reason));
}

/* What is said of one start before its tasks are. */
struct told_start {
    struct span span;
    const struct task_view *culprit; /* of the pages that are kept */
    uint64_t failed_ms;
};

/* The answer about some starts of a job, the newest first: all its tasks are looked at for who
 * failed them, and then once more for each of them. */
struct starts {
    struct detail d; /* its start: whose tasks are being put */
    bool one;        /* it stands by itself, not in a list */
    uint64_t first, n;
    struct told_start *told;     /* n, that of first first */
    VEC(struct arena *) kept;    /* pages with culprits */
    VEC(struct long_list) lists; /* of the answer */
};

static void starts_close(void *starts)
{
    struct starts *s = starts;
    detail_close(&s->d);
    for (size_t i = 0; i < s->kept.n; i++)
        arena_destroy(s->kept.at[i]);
    vec_fini(&s->kept);
    vec_fini(&s->lists);
}

/* Those of the next start begin where the last role of one ends. */
static int add_start_tasks(void *starts, struct arena *arena, struct text_node *to, struct err *err)
{
    struct starts *s = starts;
    struct detail *d = &s->d;
    int more = add_tasks(d, arena, to, err);
    if (more != 0 || d->role < d->spec->n_roles || d->start.n == s->first)
        return more;
    drop_page(d);
    answer_pages_close(d->pages);
    d->start.n--;
    d->role = 0;
    return open_pages(d, err) ? 0 : -1;
}

static void put_tasks(struct starts *s, struct text_node *out)
{
    struct arena *a = s->d.p->a;
    struct text_node *roles = text_map(a, out, "taskRoles");
    for (size_t i = 0; s->d.spec && i < s->d.spec->n_roles; i++)
        *vec_add(&s->lists) =
            (struct long_list){ .list = pai_put_role(a, roles, s->d.spec->roles[i].name),
                                .add = add_start_tasks };
}

static struct text_node *put_start(struct starts *s, struct text_node *list, uint64_t n)
{
    struct pai *p = s->d.p;
    struct arena *a = p->a;
    const struct job_view *job = s->d.start.job;
    const struct told_start *told = &s->told[n - s->first];
    char id[JOB_ID_TEXT];
    bool latest = n == pai_attempt_of(job);
    const struct pai_start start = { .job = job, .culprit = told->culprit, .n = n };
    const struct end end = end_of(p, &start);
    struct text_node *out = text_map(a, list, NULL);
    text_str(a, out, "jobName", job->name);
    text_str(a, out, "frameworkName", frame_of(a, job));
    text_str(a, out, "uid", job_id_format(id, job->id));
    text_str(a, out, "userName", job->owner);
    text_str(a, out, "state", latest ? pai_job_word(p->version, &p->row) : "FAILED");
    text_str(a, out, "originState", latest ? pai_sub_state(&p->row) : "AttemptCompleted");
    text_int(a, out, "attemptIndex", (int64_t)n);
    pai_put_ms(a, out, "jobStartedTime", job->submitted_ms);
    pai_put_ms(a, out, "attemptStartedTime",
               told->span.started ? told->span.started : told->span.placed);
    pai_put_ms(a, out, "attemptCompletedTime", latest ? job->ended_ms : told->span.ended);
    put_exit(p, out, &end);
    put_end(p, out, &start);
    text_int(a, out, "totalGpuNumber", (int64_t)((job->gpu_milli + 999) / 1000));
    text_int(a, out, "totalTaskNumber", (int64_t)job->tasks);
    text_int(a, out, "totalTaskRoleNumber", (int64_t)(s->d.spec ? s->d.spec->n_roles : 0));
    pai_put_text(a, out, "jobPriority", pai_priority(job->priority));
    put_tasks(s, out);
    text_bool(a, out, "isLatest", latest);
    return out;
}

static void answer_starts(struct starts *s)
{
    struct pai *p = s->d.p;
    struct report report;
    report_init(&report, p->a);
    const struct text_node *spec = s->d.start.job->spec;
    struct text_node *list = s->one ? NULL : text_list(p->a, NULL, NULL), *out = list;
    s->d.spec = spec ? job_decode(p->a, spec, &report) : NULL;
    for (uint64_t n = s->first + s->n; n-- > s->first;) {
        struct text_node *start = put_start(s, list, n);
        out = s->one ? start : list;
    }
    s->d.start.n = s->first + s->n - 1;
    answer_long(
        p->call,
        &(struct long_answer){
            .tree = out, .lists = s->lists.at, .n = s->lists.n, .arg = s, .close = starts_close });
}

/* A page of the first look. true: it has the culprit of a start. */
static bool look_at(struct starts *s, const struct task_view *task)
{
    bool here = false;
    for (uint64_t i = 0; i < s->n; i++) {
        struct told_start *told = &s->told[i];
        widen(&told->span, task, s->first + i);
        if (pai_failed_before(task, s->first + i, &told->failed_ms)) {
            told->culprit = task;
            here = true;
        }
    }
    return here;
}

static bool look_at_page(void *starts)
{
    struct starts *s = starts;
    struct detail *d = &s->d;
    struct err err;
    bool failed = read_page(d, &err) < 0, here = false;
    for (size_t i = 0; !failed && i < d->page.n; i++)
        here |= look_at(s, &d->page.at[i]);
    if (here)
        vec_push(&s->kept, TAKE(d->ahead));
    drop_page(d);
    if (!failed && d->more)
        return true;
    answer_pages_close(TAKE(d->pages));
    if (failed || !open_pages(d, &err)) {
        starts_close(s);
        pai_err(d->p, &err, NULL);
    } else {
        answer_starts(s);
    }
    return false;
}

static void look_at_starts(struct pai *p, struct starts *like)
{
    struct err err;
    struct starts *s = ARENA_NEW(p->a, struct starts);
    *s = *like;
    s->d.p = p;
    s->told = ARENA_ARRAY(p->a, s->n, struct told_start);
    for (uint64_t i = 0; i < s->n; i++)
        s->told[i].failed_ms = UINT64_MAX;
    if (!open_pages(&s->d, &err))
        pai_err(p, &err, NULL);
    else
        answer_work(p->call,
                    &(struct answer_work){ .step = look_at_page, .left = starts_close, .arg = s });
}

void pai_job_attempts(struct pai *p)
{
    const struct job_view *job = pai_find_job(p) ? pai_job_view(p, JOB_SPEC) : NULL;
    if (job)
        look_at_starts(p, &(struct starts){ .d.start.job = job, .n = pai_attempt_of(job) + 1 });
}

void pai_job_attempts_one(struct pai *p)
{
    struct starts s = { .one = true, .n = 1 };
    if (find_start(p, JOB_SPEC, &s.d.start.job, &s.first))
        look_at_starts(p, &s);
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

static void put_event(struct pai *p, struct text_node *list, const struct event_view *event)
{
    struct arena *a = p->a;
    const char *text = pai_said(event->text);
    struct text_node *out = text_map(a, list, NULL);
    text_str(a, out, "uid", arena_printf(a, "%llu", (unsigned long long)event->seq));
    text_str(a, out, "frameworkName", p->frame);
    text_null(a, out, "podUid");
    pai_put_text(a, out, "taskroleName", event->role);
    pai_put_text(a, out, "taskName", event->task);
    put_code(a, out, "taskIndex", event->task != NULL, event->index);
    text_str(a, out, "type", warns(event->type) ? "Warning" : "Normal");
    text_str(a, out, "reason", reason_of(a, event->type));
    text_str(a, out, "message", text ? text : event->type);
    pai_put_ms(a, out, "firstTimestamp", event->at_ms);
    pai_put_ms(a, out, "lastTimestamp", event->at_ms);
    text_int(a, out, "count", 1);
    text_str(a, out, "sourceComponent", "muster");
    pai_put_text(a, out, "sourceHost", pai_text(event->body, "node"));
}

/* All events of a job are looked at, a page at a time; the newest of them are told. */
struct job_events {
    struct pai *p;
    const char *type; /* of those that are asked for; NULL: all */
    struct event_query ask;
    const struct event_view **all; /* EVENTS_MAX, in turn */
    size_t n, kept, put;           /* found, told, put into the answer */
};

static int add_events(void *events, struct arena *arena, struct text_node *to, struct err *err)
{
    struct job_events *e = events;
    struct pai page = *e->p;
    (void)err;
    page.a = arena;
    for (unsigned i = 0; i < EVENTS_PAGE && e->put < e->kept; i++, e->put++)
        put_event(&page, to, e->all[(e->n - 1 - e->put) % EVENTS_MAX]);
    return e->put < e->kept;
}

static void answer_events(struct job_events *e)
{
    struct arena *a = e->p->a;
    struct text_node *out = text_map(a, NULL, NULL);
    e->kept = e->n < EVENTS_MAX ? e->n : EVENTS_MAX;
    text_int(a, out, "totalCount", (int64_t)e->kept);
    const struct long_list list = { .list = text_list(a, out, "data"), .add = add_events };
    answer_long(e->p->call, &(struct long_answer){ .tree = out, .lists = &list, .n = 1, .arg = e });
}

/* Oldest first. */
static bool look_at_events(void *events)
{
    struct job_events *e = events;
    struct event_list page = { 0 };
    answer_events_view(e->p->ctl, e->p->a, &e->ask, &page, NULL);
    for (size_t i = 0; i < page.n; i++) {
        bool warning = warns(page.at[i].type);
        e->ask.after = page.at[i].seq;
        if (!e->type || (warning ? is(e->type, "Warning") : is(e->type, "Normal")))
            e->all[e->n++ % EVENTS_MAX] = &page.at[i];
    }
    if (page.n == EVENTS_PAGE)
        return true;
    answer_events(e);
    return false;
}

static void nothing_left(void *arg)
{
    (void)arg;
}

void pai_job_events(struct pai *p)
{
    if (!pai_find_job(p))
        return;
    struct job_events *e = ARENA_NEW(p->a, struct job_events);
    *e = (struct job_events){ .p = p,
                              .type = http_query(p->call->request, "type", 0),
                              .ask = { .reader = p->as, .job = p->id, .limit = EVENTS_PAGE },
                              .all = ARENA_ARRAY(p->a, EVENTS_MAX, const struct event_view *) };
    answer_work(p->call,
                &(struct answer_work){ .step = look_at_events, .left = nothing_left, .arg = e });
}
