/* The pass is run as it is, and watched until the job's turn. What it left without a promise is
 * then asked of the future, job after job in the order of their turns: those before it are given
 * their times first, so that its own does not rest on room that is theirs. */
#include "sched/wait_report.h"

#include "sched/nodes.h"
#include "sched/pass.h"

#include <stdlib.h>
#include <string.h>

struct turn { /* that came before */
    size_t job;
    uint64_t id;
    uint32_t n; /* those alike among it */
};
struct watch {
    struct pass pass;
    struct sched_snapshot snapshot; /* with the job standing alone */
    struct wait_report *out;
    size_t at; /* its position */
    struct turn *before;
    size_t n_before;
};

/* ---- the job alone ---- */

static bool is_among(const struct sched_job *job, uint64_t id, size_t *k)
{
    for (*k = 0; *k < job->n_alike; (*k)++)
        if (job->alike[*k] == id)
            return true;
    return job->id == id;
}

/* Its line becomes three: those before it, itself, those behind it. */
static void split(struct watch *w, size_t i, uint64_t id, size_t k)
{
    struct sched_snapshot *s = &w->snapshot;
    struct sched_job *jobs = ARENA_ARRAY(w->pass.arena, s->n_jobs + 2, struct sched_job);
    memcpy(jobs, s->jobs, s->n_jobs * sizeof *jobs);
    struct sched_job *own = &jobs[i];
    const struct sched_job line = *own;
    bool first = line.id == id;
    size_t behind = first ? 0 : k + 1; /* first of those behind it */
    own->id = id;
    own->alike = NULL;
    own->n_alike = 0;
    if (!first) {
        own->promised_ms = 0;
        jobs[s->n_jobs] = line;
        jobs[s->n_jobs++].n_alike = k;
    }
    if (behind < line.n_alike) {
        struct sched_job *rest = &jobs[s->n_jobs++];
        *rest = line;
        rest->promised_ms = 0;
        rest->id = line.alike[behind];
        rest->alike = line.alike + behind + 1;
        rest->n_alike = line.n_alike - behind - 1;
    }
    s->jobs = jobs;
    w->at = i;
}

static bool find(struct watch *w, uint64_t id)
{
    for (size_t i = 0, k; i < w->snapshot.n_jobs; i++)
        if (is_among(&w->snapshot.jobs[i], id, &k)) {
            split(w, i, id, k);
            return true;
        }
    return false;
}

/* ---- those before it ---- */

static void came_before(struct watch *w, size_t i, uint64_t id, uint32_t n)
{
    struct wait_report *out = w->out;
    const struct sched_job *job = &w->snapshot.jobs[i];
    w->before[w->n_before++] = (struct turn){ .job = i, .id = id, .n = n };
    if (job->queue != w->snapshot.jobs[w->at].queue) {
        out->ahead_elsewhere += n;
        return;
    }
    size_t from = job->n_alike + 1 - n;
    for (uint32_t k = 0; k < n && out->ahead + k < WAIT_REPORT_NAMED; k++)
        out->first[out->ahead + k] = from + k ? job->alike[from + k - 1] : job->id;
    out->ahead += n;
}

static void run(struct watch *w)
{
    struct pass *pass = &w->pass;
    struct wait_report *out = w->out;
    struct rank rank;
    size_t i;
    while (pass_next(pass, &i, &rank)) {
        uint32_t started = pass->started[i];
        size_t waits = pass->n_waits;
        if (i == w->at) {
            out->has_turn = true;
            out->rank = rank;
        }
        pass_turn(pass, i, &rank);
        if (!out->has_turn && pass->n_waits > waits)
            came_before(w, i, rank.id, (uint32_t)w->snapshot.jobs[i].n_alike + 1 - started);
    }
    out->plan = pass_entries(pass);
}

/* ---- what it is told ---- */

static const struct plan_entry *entry_of(const struct plan *plan, uint64_t id, enum plan_kind kind)
{
    for (size_t k = 0; k < plan->n; k++)
        if (plan->at[k].job == id && plan->at[k].kind == kind)
            return &plan->at[k];
    return NULL;
}

static void read_answer(struct wait_report *out, uint64_t id)
{
    const struct plan_entry *admit = entry_of(&out->plan, id, PLAN_ADMIT);
    const struct plan_entry *wait = entry_of(&out->plan, id, PLAN_WAIT);
    if (admit) {
        out->starts = true;
        out->places = admit->tasks;
        out->n_places = admit->n_tasks;
    } else if (wait) {
        out->reason = wait->reason;
    }
}

/* ---- when ---- */

/* What a pass does for the first of a queue. at_ms 0: not known. */
static uint64_t give_time(struct watch *w, size_t job, uint64_t id, const struct wait_reason *why)
{
    w->pass.heads = 0;
    return start_later(&w->pass, job, id, why)->at_ms;
}

static uint64_t id_of(const struct watch *w, const struct turn *turn, uint32_t k)
{
    const struct sched_job *job = job_at(&w->pass, turn->job);
    size_t nth = job->n_alike + 1 - turn->n + k;
    return nth ? job->alike[nth - 1] : job->id;
}

/* The pass gave it one. */
static bool has_time(const struct watch *w, uint64_t id)
{
    const struct plan_entry *wait = entry_of(&w->out->plan, id, PLAN_WAIT);
    return entry_of(&w->out->plan, id, PLAN_RESERVE) || (wait && wait->reason.at_ms);
}

/* How many before it have no time yet; those beyond the chain are not counted. */
static uint32_t without_time(const struct watch *w)
{
    uint32_t n = 0;
    for (size_t i = 0; i < w->n_before; i++)
        for (uint32_t k = 0; k < w->before[i].n && n <= WAIT_REPORT_CHAIN; k++)
            n += !has_time(w, id_of(w, &w->before[i], k));
    return n;
}

/* Those of a turn, one by one. */
static void give_times(struct watch *w, const struct turn *turn)
{
    const struct wait_reason why = { .why = WAIT_QUOTA };
    for (uint32_t k = 0; k < turn->n; k++) {
        uint64_t id = id_of(w, turn, k);
        if (!has_time(w, id))
            give_time(w, turn->job, id, &why);
    }
}

/* ---- what that rests on ---- */

static void mark_nodes(const struct pass *pass, const struct held_places *held, bool *nodes)
{
    for (uint32_t i = 0; i < held->n; i++) {
        uint32_t node = held_places_node(held, pass->cluster, i);
        if (node != UINT32_MAX)
            nodes[node] = true;
    }
}

static bool touches(const struct pass *pass, const struct held_places *held, const bool *nodes)
{
    for (uint32_t i = 0; i < held->n; i++) {
        uint32_t node = held_places_node(held, pass->cluster, i);
        if (node != UINT32_MAX && nodes[node])
            return true;
    }
    return false;
}

/* The latest ends are kept, latest first. */
static void add_end(struct wait_report *out, const struct wait_report_end *end)
{
    uint32_t at = out->n_ends < WAIT_REPORT_NAMED ? out->n_ends : WAIT_REPORT_NAMED;
    out->n_ends++;
    out->assumed = out->assumed || end->assumed;
    while (at > 0 && out->ends[at - 1].at_ms < end->at_ms) {
        if (at < WAIT_REPORT_NAMED)
            out->ends[at] = out->ends[at - 1];
        at--;
    }
    if (at < WAIT_REPORT_NAMED)
        out->ends[at] = *end;
}

static void add_promised(struct watch *w, const struct promise *p, const bool *nodes)
{
    const struct held_places held = held_places_of(p->spec, p->places, p->n_places);
    const struct wait_report_end end = { .job = p->job,
                                         .at_ms = p->ends_ms,
                                         .assumed = !p->spec->limits.run_time_ms.has,
                                         .waits = true };
    if (p->ends_ms <= w->out->at_ms && touches(&w->pass, &held, nodes))
        add_end(w->out, &end);
}

static void find_ends(struct watch *w)
{
    const struct pass *pass = &w->pass;
    struct wait_report *out = w->out;
    const struct sched_job *own = job_at(pass, w->at);
    bool *nodes = ARENA_ARRAY(pass->arena, cluster_count(pass->cluster), bool);
    const struct held_places places = held_places_of(own->spec, out->places, out->n_places);
    bool quota = out->reason.why == WAIT_QUOTA || out->reason.why == WAIT_USER;
    mark_nodes(pass, &places, nodes);
    for (size_t i = 0; i < pass->snapshot->n_running; i++) {
        const struct sched_running *r = &pass->snapshot->running[i];
        bool counts = quota ? r->queue == own->queue : touches(pass, &r->held, nodes);
        if (pass->ends[i].at_ms > out->at_ms || !counts)
            continue;
        const struct wait_report_end end = { .job = r->id,
                                             .at_ms = pass->ends[i].at_ms,
                                             .assumed = !r->leaving && !r->ends_ms };
        add_end(out, &end);
    }
    for (size_t i = 0; i < pass->promises.n; i++)
        if (pass->promises.at[i].job != own->id)
            add_promised(w, &pass->promises.at[i], nodes);
}

static const struct promise *promise_of(const struct watch *w, uint64_t id)
{
    for (size_t i = 0; i < w->pass.promises.n; i++)
        if (w->pass.promises.at[i].job == id)
            return &w->pass.promises.at[i];
    return NULL;
}

static void estimate(struct watch *w, uint64_t id)
{
    struct wait_report *out = w->out;
    const struct wait_reason why = { .why = WAIT_QUOTA };
    out->promised = promise_of(w, id) != NULL;
    if (!out->promised && without_time(w) > WAIT_REPORT_CHAIN)
        return;
    for (size_t k = 0; !out->promised && k < w->n_before; k++)
        give_times(w, &w->before[k]);
    if (!out->promised && !out->reason.at_ms)
        give_time(w, w->at, id, &why);
    const struct promise *p = promise_of(w, id);
    if (!p) /* of a share alone, without room */
        return;
    out->at_ms = p->at_ms;
    out->places = p->places;
    out->n_places = p->n_places;
    find_ends(w);
}

/* ---- not before ---- */

/* The same of what its queues and its user may have. */
static uint64_t earliest_share(struct watch *w)
{
    struct pass *pass = &w->pass;
    const struct sched_snapshot *s = pass->snapshot;
    struct quota_timeline *alone =
        quota_timeline_create(pass->arena, s->queues, s->n_queues, pass->now_ms);
    if (start_idle(pass, w->at))
        return pass->now_ms;
    for (size_t i = 0; i < s->n_running; i++) {
        const struct sched_running *r = &s->running[i];
        const struct quota_request runs = {
            .job = r->id, .queue = r->queue, .user = r->user, .demand = r->demand
        };
        if (!r->idle)
            quota_timeline_runs(alone, &runs, pass->ends[i].at_ms);
    }
    const struct quota_request ask = start_ask(pass, w->at, job_at(pass, w->at)->id);
    return quota_timeline_earliest(alone, &ask, pass->now_ms);
}

/* What runs goes on to its counted end, and nothing that waits takes any room: whoever is let in
 * meanwhile can only make it later. */
static uint64_t earliest_room(struct watch *w)
{
    struct pass *pass = &w->pass;
    size_t n = pass->snapshot->n_running, begun = pass->begun.n;
    struct arena *scratch = arena_create();
    struct future_release *ends = ARENA_ARRAY(scratch, n + begun, struct future_release);
    struct promise promise;
    if (n)
        memcpy(ends, pass->ends, n * sizeof *ends);
    if (begun)
        memcpy(ends + n, pass->begun.at, begun * sizeof *ends);
    struct future *alone = future_create(pass->cluster, pass->now_ms, ends, n + begun, scratch);
    const struct sched_job *job = job_at(pass, w->at);
    const struct future_ask ask = { .job = job->id,
                                    .spec = job->spec,
                                    .lasts_ms = pass_lasts(pass, job->spec) };
    uint64_t at_ms = future_earliest(alone, &ask, &promise) ? promise.at_ms : 0;
    uint64_t share_ms = at_ms ? earliest_share(w) : 0;
    future_destroy(alone);
    arena_destroy(scratch);
    return share_ms > at_ms && share_ms != QUOTA_NEVER ? share_ms : at_ms;
}

static void read_shares(struct watch *w)
{
    const struct sched_snapshot *s = &w->snapshot;
    struct vector *used = ARENA_ARRAY(w->pass.arena, s->n_queues + 1, struct vector);
    for (uint32_t i = 0; i < s->n_queues; i++)
        used[i] = *quota_used(w->pass.quota, i);
    w->out->used = used;
    if (s->jobs[w->at].user < s->n_users)
        w->out->user_used = *quota_user(w->pass.quota, s->jobs[w->at].user);
}

bool sched_wait_report(const struct sched_snapshot *s, uint64_t job, uint64_t now_ms,
                       struct arena *arena, struct wait_report *out)
{
    struct watch w = { .snapshot = *s, .out = out };
    *out = (struct wait_report){ .reason = { .why = WAIT_NONE } };
    w.pass.arena = arena;
    if (!find(&w, job))
        return false;
    pass_open(&w.pass, &w.snapshot, now_ms, arena);
    w.before = ARENA_ARRAY(arena, w.snapshot.n_jobs, struct turn);
    read_shares(&w);
    run(&w);
    read_answer(out, job);
    const struct sched_job *own = &w.snapshot.jobs[w.at];
    if (!out->starts && out->has_turn && !own->bundle && out->reason.why != WAIT_LABELS)
        estimate(&w, job);
    if (!out->starts && out->has_turn && !own->bundle)
        out->not_before_ms = earliest_room(&w);
    pass_close(&w.pass);
    return true;
}
