/* Why does a job wait, and until when: the scheduler's own pass on a copy of what is there. Nothing
 * here writes. */
#include "explain/parts.h"

#include "answer/question.h"
#include "ctl/account.h"
#include "ctl/wait_texts.h"
#include "explain/start_estimate.h"
#include "explain/variant.h"
#include "queue/queues.h"

#include "base/mem.h"
#include "base/scan.h"
#include "sched/wait_words.h"

#include <string.h>

/* ---- pieces ---- */

static const char *const wait_names[] = {
    [WAIT_RESOURCE] = "resource",
    [WAIT_PORTS] = "ports",
    [WAIT_LABELS] = "labels",
    [WAIT_AHEAD] = "ahead",
    [WAIT_TIME] = "time",
    [WAIT_AFTER] = "after",
    [WAIT_NODES_DOWN] = "nodes_down",
    [WAIT_QUOTA] = "quota",
    [WAIT_USER] = "user",
    [WAIT_RESERVED] = "reserved",
    [WAIT_EVICTING] = "evicting",
    [WAIT_PENDING] = "pending",
    [WAIT_TOPOLOGY] = "topology",
    [WAIT_ALLOCATION] = "allocation",
};

/* NULL: of WAIT_NONE. */
static const char *reason_word(enum wait_why why)
{
    return why < ARRAY_LEN(wait_names) ? wait_names[why] : NULL;
}

static struct other_job named(struct explain *e, uint64_t job)
{
    const struct job_row *row = question_row(e->ctl, job);
    if (!row)
        return (struct other_job){ 0 };
    if (!reader_may(&e->reader, row))
        return (struct other_job){ .name = HIDDEN_JOB };
    return (struct other_job){ .number = row->number, .name = row->name };
}

void explain_copy(struct explain *e)
{
    question_snapshot(e->ctl, e->arena, &e->snapshot);
    e->queues = question_queues(e->ctl);
    e->next_id = question_next_id(e->ctl);
}

struct sched_job explain_newest(struct explain *e)
{
    uint32_t queue = queues_position(e->queues, e->spec->queue);
    return (struct sched_job){ .id = e->next_id,
                               .spec = e->spec,
                               .queue = queue,
                               .user = question_user(e->ctl, queue, e->owner) };
}

void explain_dates(const struct ctl *ctl, struct explain_view *view)
{
    view->until_ms = ctl_date_of(ctl, view->until_ms);
    view->expected_ms = ctl_date_of(ctl, view->expected_ms);
    view->not_before_ms = ctl_date_of(ctl, view->not_before_ms);
    view->not_later_ms = ctl_date_of(ctl, view->not_later_ms);
}

struct pairs explain_places(struct arena *arena, const struct job_spec *spec,
                            const struct task_place *places, uint32_t n)
{
    struct pairs out = { .at = ARENA_ARRAY(arena, n, struct pair) };
    for (; out.n < n; out.n++) {
        const struct task_place *place = &places[out.n];
        out.at[out.n] =
            (struct pair){ .name = arena_printf(arena, "%s/%u", spec->roles[place->role].name,
                                                place->index),
                           .value = arena_strdup(arena, place->node) };
    }
    return out;
}

/* ---- when ---- */

/* What ends when it starts, as the forecast has it: the pass alone did not come so far. */
static struct end_list ended_by_forecast(struct explain *e)
{
    struct end_list list = { .at = ARENA_ARRAY(e->arena, WAIT_REPORT_NAMED, struct job_end) };
    const struct forecast *f = &e->told.by_limit;
    for (; list.n < f->n_ended && list.n < WAIT_REPORT_NAMED; list.n++) {
        const struct job_row *row = question_row(e->ctl, f->ended[list.n]);
        const struct job_spec *spec = question_spec(e->ctl, f->ended[list.n]);
        list.at[list.n] = (struct job_end){ .job = named(e, f->ended[list.n]),
                                            .at_ms = ctl_date_of(e->ctl, f->at_ms),
                                            .assumed = spec && !spec->limits.run_time_ms.has,
                                            .waits = row && row->state == JOB_QUEUED };
    }
    return list;
}

static struct end_list ends_of_pass(struct explain *e)
{
    struct end_list list = { .at = ARENA_ARRAY(e->arena, WAIT_REPORT_NAMED, struct job_end) };
    const struct wait_report *w = &e->when;
    for (; list.n < w->n_ends && list.n < WAIT_REPORT_NAMED; list.n++)
        list.at[list.n] = (struct job_end){ .job = named(e, w->ends[list.n].job),
                                            .at_ms = ctl_date_of(e->ctl, w->ends[list.n].at_ms),
                                            .assumed = w->ends[list.n].assumed,
                                            .waits = w->ends[list.n].waits };
    return list;
}

static struct other_list ahead_of(struct explain *e)
{
    struct other_list list = { .at = ARENA_ARRAY(e->arena, WAIT_REPORT_NAMED, struct other_job) };
    for (; list.n < e->ahead && list.n < WAIT_REPORT_NAMED; list.n++)
        list.at[list.n] = named(e, e->first[list.n]);
    return list;
}

/* Of the jobs that the forecast lets start before it; where there is none, by rank. */
static void find_ahead(struct explain *e)
{
    const struct forecast *f = &e->told.by_limit;
    e->ahead_known = f->found && !f->rough;
    e->ahead = e->ahead_elsewhere = 0;
    if (!f->found) {
        e->ahead = e->when.ahead;
        e->ahead_elsewhere = e->when.ahead_elsewhere;
        memcpy(e->first, e->when.first, sizeof e->first);
        return;
    }
    for (size_t i = 0; i < f->n_ahead; i++) {
        if (question_queue(e->ctl, f->ahead[i]) != e->as.queue)
            e->ahead_elsewhere++;
        else if (e->ahead++ < WAIT_REPORT_NAMED)
            e->first[e->ahead - 1] = f->ahead[i];
    }
}

static void tell(struct explain *e, const struct sched_snapshot *s)
{
    const struct job_row row = { .owner = e->owner,
                                 .name = e->spec->name,
                                 .queue = e->as.queue < e->snapshot.n_queues
                                              ? e->snapshot.queues[e->as.queue].name
                                              : "" };
    const struct start_forecast_request ask = {
        .ctl = e->ctl, .arena = e->arena, .snapshot = s, .job = e->as.id, .as = &row
    };
    start_forecast_make(&ask, &e->told);
    find_ahead(e);
}

/* By limits of run time; by what jobs like those ran before. */
static const struct estimates_view *estimates_of(struct explain *e, uint64_t by_limit_ms)
{
    const struct start_forecast *t = &e->told;
    struct estimates_view *view = ARENA_NEW(e->arena, struct estimates_view);
    if (!by_limit_ms && !t->learnt)
        return NULL;
    *view = (struct estimates_view){ .by_limit_ms = ctl_date_of(e->ctl, by_limit_ms),
                                     .learnt = t->learnt };
    if (t->learnt) {
        view->at_ms = ctl_date_of(e->ctl, t->at_ms);
        view->earliest_ms = ctl_date_of(e->ctl, t->early_ms);
        view->latest_ms = ctl_date_of(e->ctl, t->late_ms);
        view->known = t->known;
        view->jobs = t->asked;
    }
    return view;
}

static const struct run_time_view *run_time_of(struct explain *e)
{
    const struct run_samples *own = &e->told.own;
    struct run_time_view *view = ARENA_NEW(e->arena, struct run_time_view);
    *view = (struct run_time_view){ .limit_ms = e->spec->limits.run_time_ms, .jobs = own->n };
    if (own->n) {
        view->of_queue = own->of_queue;
        view->median_ms = run_samples_at(own, 500);
        view->low_ms = run_samples_at(own, 250);
        view->high_ms = run_samples_at(own, 750);
    }
    return own->n || view->limit_ms.has ? view : NULL;
}

static const struct rank_view *rank_shown(struct explain *e)
{
    const struct rank *r = &e->when.rank;
    uint64_t now = ctl_now(e->ctl), since = r->id >> 20;
    struct rank_view *view = ARENA_NEW(e->arena, struct rank_view);
    *view = (struct rank_view){ .claims = r->claims,
                                .sure = r->sure,
                                .priority = r->priority,
                                .asked_priority = e->spec->priority,
                                .load = r->load,
                                .usage = r->usage,
                                .age_ms = now > since ? now - since : 0 };
    if (r->promised_ms != UINT64_MAX)
        view->promised_ms = ctl_date_of(e->ctl, r->promised_ms);
    return view;
}

/* ---- why ---- */

struct unfits explain_unfits(struct explain *e)
{
    const struct sched_more whole = { .spec = e->spec };
    return sched_unfit(e->snapshot.cluster, &whole, e->arena);
}

static const struct unfit_view *unfit_of(struct explain *e)
{
    struct unfit_view *view = ARENA_NEW(e->arena, struct unfit_view);
    view->unfits = explain_unfits(e);
    if (view->unfits.n == 0)
        return NULL;
    view->role = e->spec->roles[view->unfits.role].name;
    view->pods = convention_of(ctl_dialects(e->ctl), e->spec)->pods;
    return view;
}

static bool is_refusal(enum wait_why why)
{
    return why == WAIT_RESOURCE || why == WAIT_PORTS || why == WAIT_LABELS ||
           why == WAIT_NODES_DOWN || why == WAIT_EVICTING || why == WAIT_TOPOLOGY;
}

static void add_reason(struct explain *e, const struct wait_reason *r, struct explain_view *view)
{
    const struct sentence why = reason_text(e->ctl, e->arena, e->spec, r);
    view->reason = why.text ? reader_text(&e->reader, &why) : view->reason;
    view->why = reason_word(r->why);
    if (reason_hidden(e->ctl, &e->reader, r->of)) {
        view->reason = REASON_HIDDEN;
        return;
    }
    view->resource = r->resource;
    view->role = r->role;
    view->level = r->level;
    view->domain = r->domain;
    view->node = r->node;
    view->need = r->need;
    view->best = r->best;
    view->short_by = r->short_by;
    view->total = r->total;
    view->until_ms = r->until_ms;
    if (r->blocker) {
        struct other_job *blocker = ARENA_NEW(e->arena, struct other_job);
        *blocker = named(e, r->blocker);
        view->blocker = blocker;
    }
    if (is_refusal(r->why))
        view->unfit = unfit_of(e);
}

/* Of a job that was not looked at because others come first: how many, and which is next. Where it
 * would start before all of them in the end, those whose turn is before its own. */
static const char *behind(struct explain *e)
{
    bool starts_first = e->ahead + e->ahead_elsewhere == 0;
    uint32_t own = starts_first ? e->when.ahead : e->ahead;
    uint32_t n = own ? own : starts_first ? e->when.ahead_elsewhere : e->ahead_elsewhere;
    if (n == 0)
        return NULL;
    const struct job_row *next =
        own ? question_row(e->ctl, starts_first ? e->when.first[0] : e->first[0]) : NULL;
    const char *text = arena_printf(e->arena, "behind %u job%s of %s", n, n == 1 ? "" : "s",
                                    own ? "its queue" : "other queues");
    if (!next || !reader_may(&e->reader, next))
        return next ? arena_printf(e->arena, "%s, next is %s", text, HIDDEN_JOB) : text;
    return arena_printf(e->arena, "%s, next is %llu %s", text, (unsigned long long)next->number,
                        next->name);
}

/* An estimate where there is one, else what it cannot start before. */
static void put_times(struct explain *e, struct explain_view *view)
{
    const struct wait_report *w = &e->when;
    const struct forecast *f = &e->told.by_limit;
    view->promised = w->promised;
    view->not_before_ms = w->not_before_ms;
    view->expected_ms = f->found ? f->at_ms : w->at_ms;
    view->estimates = estimates_of(e, view->expected_ms);
    if (view->expected_ms == w->at_ms) {
        view->ends = ends_of_pass(e);
        view->n_ends = w->n_ends;
    } else if (f->found) {
        view->ends = ended_by_forecast(e);
        view->n_ends = f->n_ended;
    }
    view->at_least = !view->expected_ms && w->not_before_ms > ctl_now(e->ctl);
    if (view->at_least)
        view->expected_ms = w->not_before_ms;
    /* A promise is one as long as the pass gives it again, and rests on limits alone. */
    if (!w->promised || w->assumed || w->at_ms > view->not_later_ms)
        view->not_later_ms = 0;
}

void explain_when(struct explain *e, const struct sched_snapshot *s, struct explain_view *view)
{
    const struct wait_report *w = &e->when;
    if (!w->starts)
        tell(e, s);
    const char *others = w->reason.why == WAIT_AHEAD ? behind(e) : NULL;
    view->would_start = w->starts;
    if (w->starts) {
        view->places = explain_places(e->arena, e->spec, w->places, w->n_places);
        view->reason = "";
        view->why = NULL;
    } else {
        add_reason(e, &w->reason, view);
        view->reason = others ? others : view->reason;
    }
    view->ahead = e->ahead;
    view->ahead_elsewhere = e->ahead_elsewhere;
    view->ahead_known = e->ahead_known;
    view->ahead_jobs = ahead_of(e);
    view->run_time = run_time_of(e);
    put_times(e, view);
    if (w->has_turn)
        view->rank = rank_shown(e);
    shares_put(e, view);
}

const char *explain_never(struct explain *e)
{
    struct wait_reason reason = { .why = WAIT_NONE };
    bool never = sched_possible(e->snapshot.cluster, e->spec, e->arena, &reason) < 0;
    return never ? wait_text(e->arena, &reason) : NULL;
}

/* ---- promises of others ---- */

static const struct plan_entry *promise_of(const struct plan *plan, uint64_t job)
{
    for (size_t i = 0; i < plan->n; i++)
        if (plan->at[i].job == job &&
            (plan->at[i].kind == PLAN_RESERVE || plan->at[i].kind == PLAN_ADMIT))
            return &plan->at[i];
    return NULL;
}

struct delay_list explain_moves(struct explain *e, const struct plan *is, const struct plan *would)
{
    struct delay_list list = { .at = ARENA_ARRAY(e->arena, is->n, struct job_delay) };
    for (size_t i = 0; i < is->n; i++) {
        const struct plan_entry *before = &is->at[i], *after = promise_of(would, before->job);
        bool starts = before->kind == PLAN_ADMIT;
        if ((!starts && before->kind != PLAN_RESERVE) || before->job == e->job)
            continue;
        bool same =
            after && after->kind == before->kind && (starts || after->at_ms == before->at_ms);
        if (same || (after && after->kind == PLAN_ADMIT))
            continue;
        list.at[list.n++] =
            (struct job_delay){ .job = named(e, before->job),
                                .before_ms =
                                    ctl_date_of(e->ctl, starts ? ctl_now(e->ctl) : before->at_ms),
                                .after_ms = after ? ctl_date_of(e->ctl, after->at_ms) : 0 };
    }
    return list;
}

/* ---- one job ---- */

static struct explain begin(struct ctl *ctl, const struct reader *reader,
                            const struct asked_job *job)
{
    struct explain e = { .ctl = ctl,
                         .arena = reader->arena,
                         .reader = *reader,
                         .job = job->live->id,
                         .number = job->live->number,
                         .suspended = job->live->state == JOB_SUSPENDED,
                         .spec = job->spec,
                         .owner = job->live->owner };
    explain_copy(&e);
    e.as = explain_newest(&e);
    e.as.queue = queues_position(e.queues, job->live->queue);
    if (e.suspended) {
        e.as.id = e.job;
        variant_add(e.arena, &e.snapshot, &e.as, e.queues, ctl_now(e.ctl));
    }
    e.as.bundle = job->bundled;
    return e;
}

void explain_after(struct reader *reader, const struct sentence *which, struct explain_view *view)
{
    view->why = reason_word(WAIT_AFTER);
    view->reason = arena_strdup(reader->arena, reader_text(reader, which));
}

/* A job that stands aside has no turn: what it waits for is all there is to say. */
static void explain_aside(struct explain *e, const struct asked_job *job, struct explain_view *view)
{
    if (job->live->not_before_ms > ctl_now(e->ctl)) {
        view->why = reason_word(WAIT_TIME);
        view->until_ms = job->live->not_before_ms;
        view->reason = "waits a while before it is tried again";
    } else if (job->after.text) {
        explain_after(&e->reader, &job->after, view);
    } else {
        view->why = reason_word(job->why);
    }
}

static void explain_waiting(struct ctl *ctl, const struct reader *reader,
                            const struct asked_job *job, struct explain_view *view)
{
    if (!job->spec)
        return;
    struct explain e = begin(ctl, reader, job);
    if (e.as.queue < e.snapshot.n_queues) /* its own may be gone */
        view->queue = e.snapshot.queues[e.as.queue].name;
    view->not_later_ms = job->promised_ms;
    if (job->at_once) {
        view->reason = arena_printf(e.arena, "its array runs %u at a time", job->at_once);
        view->why = "array";
        return;
    }
    if (!sched_wait_report(&e.snapshot, e.job, ctl_now(e.ctl), e.arena, &e.when)) {
        view->not_later_ms = 0;
        explain_aside(&e, job, view);
        return;
    }
    e.as.id = e.job;
    explain_when(&e, &e.snapshot, view);
    view->never = view->would_start ? NULL : explain_never(&e);
    view->ways = changes_find(&e);
}

bool explain_start(struct ctl *ctl, struct arena *arena, uint64_t id, struct start_estimate *out)
{
    const struct reader reader = reader_of(ctl_accounts(ctl), arena, NULL);
    const struct job_row *row = question_row(ctl, id);
    struct asked_job job;
    *out = (struct start_estimate){ .job = id };
    if (!row || row->state != JOB_QUEUED || question_about(ctl, &reader, id, &job, NULL) ||
        !job.spec)
        return false;
    struct explain e = begin(ctl, &reader, &job);
    e.as.id = id;
    if (!sched_wait_report(&e.snapshot, id, ctl_now(ctl), arena, &e.when) || !e.when.has_turn)
        return false;
    tell(&e, &e.snapshot);
    const struct forecast *f = &e.told.by_limit;
    out->not_before_ms = e.when.not_before_ms;
    out->limit_ms = f->found ? f->at_ms : e.when.at_ms;
    out->learnt_ms = e.told.learnt ? e.told.at_ms : 0;
    out->ahead_known = e.ahead_known;
    out->ahead = f->ahead;
    out->n_ahead = f->found ? f->n_ahead : 0;
    return true;
}

/* A job that runs with fewer tasks than it asks for: what keeps the others. */
static void explain_rest(struct ctl *ctl, const struct reader *reader, const struct asked_job *job,
                         struct explain_view *view)
{
    if (!job->unplaced)
        return;
    struct explain e = begin(ctl, reader, job);
    struct plan plan = sched_plan(&e.snapshot, ctl_now(e.ctl), e.arena);
    for (size_t i = 0; i < plan.n; i++) {
        const struct wait_reason *r = &plan.at[i].reason;
        if (plan.at[i].job != e.job || r->why == WAIT_NONE)
            continue;
        const char *own = view->reason;
        add_reason(&e, r, view);
        view->unfit = NULL; /* of the whole job it would be */
        const char *rest = view->reason ? view->reason : "", *ours = own ? own : "";
        view->reason =
            job->unplaced == 1
                ? arena_printf(e.arena, "%s; 1 more waits: %s; it joins when there is room", ours,
                               rest)
                : arena_printf(e.arena, "%s; %zu more wait: %s; they join when there is room", ours,
                               job->unplaced, rest);
        return;
    }
}

static int explain_changed(struct ctl *ctl, const struct explain_ask *ask,
                           const struct asked_job *job, struct explain_view *view, struct err *err)
{
    if (job->live && !job->waits) {
        err_set(err, ERR_CONFLICT, "job %llu does not wait: it is %s",
                (unsigned long long)view->number, job_state_word(view->state));
        return err_hint(err, "what-if is asked of jobs that wait or have ended");
    }
    return what_if(ctl, ask, job, view, err);
}

int explain_job(struct ctl *ctl, const struct explain_ask *asked, struct explain_view *view,
                struct err *err)
{
    struct reader reader = reader_of(ctl_accounts(ctl), asked->arena, asked->owner);
    struct explain_ask ask = *asked;
    struct asked_job job;
    ask.job = question_member(ctl, asked->job);
    if (question_about(ctl, &reader, ask.job, &job, err))
        return -1;
    *view = (struct explain_view){ .job = ask.job,
                                   .number = job.row.number,
                                   .name = job.row.name,
                                   .array = job.array,
                                   .has_index = job.row.array != 0,
                                   .index = job.row.index,
                                   .queue = job.row.queue,
                                   .state = job.live ? job.live->state : job.row.state };
    view->reason = reader_text(&reader, &job.reason);
    if (ask.changes.n) {
        if (explain_changed(ctl, &ask, &job, view, err))
            return -1;
    } else if (job.waits) {
        explain_waiting(ctl, &reader, &job, view);
    } else if (job.live) {
        explain_rest(ctl, &reader, &job, view);
        view->away = job.away;
    }
    view->early_images = ask.changes.n ? NULL : job.early_images;
    explain_dates(ctl, view);
    return 0;
}
