/* The pass: one clone of the cluster, the jobs in the order of their ranks.
 *
 * Within a pass room only shrinks and promises only come to it, so a job of the same shape as one
 * that did not fit does not fit either: it gets the same reason without a look. Past `depth`
 * blocked jobs nothing is looked at any more. The first blocked job of a queue is promised the
 * earliest time that it fits, and nothing that starts after it in the pass may delay that. */
#include "sched/plan.h"

#include "base/err.h"
#include "sched/gang.h"
#include "sched/nodes.h"
#include "sched/pass.h"
#include "sched/reason.h"

#include <string.h>

#define DEPTH_DEFAULT 256u
#define PASS_STEPS    131072u /* of exhaustive search, for all jobs of a pass together */
#define AHEAD         16u
#define PROMISES_MAX  32u /* up to here those that were told a time before are told one again */

static struct plan_entry *add_to(struct pass *pass, struct entries *list)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 16;
        struct plan_entry *wider = ARENA_ARRAY(pass->arena, list->cap, struct plan_entry);
        if (list->n)
            memcpy(wider, list->at, list->n * sizeof *wider);
        list->at = wider;
    }
    return &list->at[list->n++];
}

struct plan_entry *pass_entry(struct pass *pass)
{
    return add_to(pass, &pass->entries);
}

struct plan_entry *pass_later(struct pass *pass)
{
    return add_to(pass, &pass->others);
}

struct wait_reason *pass_reason(struct pass *pass, const struct wait_reason *reason)
{
    struct wait_reason *kept = ARENA_NEW(pass->arena, struct wait_reason);
    *kept = *reason;
    return kept;
}

void pass_wait(struct pass *pass, uint64_t job, const struct wait_reason *reason, uint32_t ahead)
{
    pass->waits[pass->n_waits++] = (struct waiting){ .job = job, .reason = reason, .ahead = ahead };
}

/* How many of the job and those alike behind it still wait; the id of the first of them. */
static uint32_t left(const struct pass *pass, size_t i)
{
    return (uint32_t)job_at(pass, i)->n_alike + 1 - pass->started[i];
}
static uint64_t first_left(const struct pass *pass, size_t i)
{
    uint32_t started = pass->started[i];
    return started ? job_at(pass, i)->alike[started - 1] : job_at(pass, i)->id;
}

/* ---- tasks of running jobs ---- */

/* They go when their job does: that is when. ended: this pass ends it. */
static uint64_t more_ends(const struct pass *pass, const struct sched_more *more, bool *ended)
{
    *ended = false;
    for (size_t i = 0; i < pass->snapshot->n_running; i++)
        if (pass->ends[i].job == more->id) {
            *ended = pass->leaving[i];
            return pass->ends[i].at_ms;
        }
    return pass->now_ms + pass_lasts(pass, more->spec);
}

/* What a job cannot go on without comes first; what it grows by, after all that wait. */
static void plan_more(struct pass *pass, const struct sched_more *more, bool growth)
{
    struct placement placement;
    bool ended;
    uint64_t ends_ms = more_ends(pass, more, &ended);
    placement_init_more(&placement, pass->arena, pass->cluster, more);
    if (placement.trickles != growth)
        return;
    placement.steps = &pass->steps;
    enum gang_answer answer = gang_place(&placement);
    struct wait_reason reason = { .why = WAIT_NONE };
    if (answer != GANG_PLACED) {
        reason = reason_now(&placement, answer);
        placement.n_places = 0;
        if (growth) {
            placement_init_more(&placement, pass->arena, pass->cluster, more);
            gang_place_some(&placement);
        }
    }
    const struct held_places held =
        held_places_of(more->spec, placement.places, placement.n_places);
    const struct future_release release = { .at_ms = ends_ms, .job = more->id, .held = held };
    if (placement.n_places && growth && (ended || !future_allows(pass->future, &release, 1))) {
        held_places_give(pass->cluster, &held);
        reason = reason_plain(WAIT_RESERVED);
        reason.blocker = pass->promised_to;
        placement.n_places = 0;
    }
    if (placement.n_places == 0) {
        pass_wait(pass, more->id, pass_reason(pass, &reason), 0);
        return;
    }
    pass_admit(pass, &release);
    *pass_entry(pass) = (struct plan_entry){ .kind = PLAN_MORE,
                                             .job = more->id,
                                             .tasks = placement.places,
                                             .n_tasks = placement.n_places,
                                             .right = growth ? 0 : PLAN_RIGHT_FIRST,
                                             .reason = reason };
}

/* ---- waiting jobs ---- */

void pass_started(struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    const struct quota_request ask = start_ask(pass, i, first_left(pass, i));
    if (!start_idle(pass, i)) {
        quota_charge(pass->quota, job->queue, job->user, &ask.demand);
        quota_timeline_runs(pass->quota_timeline, &ask, pass->now_ms + ask.lasts_ms);
    }
    pass->started[i]++;
    if (left(pass, i) > 0)
        order_again(pass->order, i, first_left(pass, i));
}

static void keep_waiting(struct pass *pass, size_t i, const struct wait_reason *reason)
{
    pass_wait(pass, first_left(pass, i), reason, pass->in_line);
    pass->in_line += left(pass, i);
}

void pass_blocked(struct pass *pass, size_t i, const struct rank *rank,
                  const struct wait_reason *reason)
{
    order_blocked(pass->order, i, rank);
    pass->blocked++;
    keep_waiting(pass, i, reason);
}

/* What it lacks decides who else is told a time beside it. */
static enum order_lack lack_of(const struct wait_reason *why, bool over)
{
    if (!over)
        return LACKS_ROOM;
    return why->why == WAIT_USER ? LACKS_USER_SHARE : LACKS_SHARE;
}

static const struct wait_reason *say_evicting(struct pass *pass, const struct wait_reason *why)
{
    struct wait_reason *evicting = pass_reason(pass, why);
    evicting->why = WAIT_EVICTING;
    return evicting;
}

/* It stays blocked: who makes room for it, and when it starts. */
static const struct wait_reason *provide(struct pass *pass, size_t i, const struct rank *rank,
                                         const struct wait_reason *why, bool over)
{
    bool may_claim = !over && why->why == WAIT_RESOURCE && !(rank->claims && pass->leaves);
    bool claims = (may_claim && claim_room(pass, i, rank->id)) || rank->claims;
    enum order_lack lack = lack_of(why, over);
    bool told = rank->promised_ms != UINT64_MAX && pass->promises.n < PROMISES_MAX;
    if (claims || told || order_first_blocked(pass->order, i, rank, lack))
        why = start_later(pass, i, rank->id, why);
    if (!claims && why->at_ms)
        order_told(pass->order, i, lack);
    if (claims)
        vec_push(&pass->claimants, i);
    return claims && !over && pass->leaves ? say_evicting(pass, why) : why;
}

void pass_turn(struct pass *pass, size_t i, const struct rank *rank)
{
    pass->right = rank_right(rank);
    if (job_at(pass, i)->bundle) {
        bundle_turn(pass, i, rank);
        return;
    }
    if (pass->blocked >= pass->depth || order_closed(pass->order, i)) {
        keep_waiting(pass, i, &pass->ahead);
        return;
    }
    const struct wait_reason *why = start_over(pass, i, rank->id);
    bool over = why != NULL;
    if (over && start_hopeless(pass, i)) {
        keep_waiting(pass, i, why); /* and stands in nobody's way */
        return;
    }
    if (!over)
        why = start_job(pass, i, rank->id);
    if (why)
        pass_blocked(pass, i, rank, provide(pass, i, rank, why, over));
    else
        pass_started(pass, i);
}

bool pass_aside(const struct pass *pass, size_t i)
{
    return job_at(pass, i)->blocked_after || job_at(pass, i)->not_before_ms > pass->now_ms;
}

static void held_back(struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    if (job->blocked_after) {
        pass_wait(pass, job->id, &pass->after, 0);
    } else if (job->not_before_ms > pass->now_ms) {
        struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
        *reason = reason_plain(WAIT_TIME);
        reason->until_ms = job->not_before_ms;
        pass_wait(pass, job->id, reason, 0);
    }
}

/* ---- the pass ---- */

static struct vector total_of(const struct cluster *cluster)
{
    struct vector total = { 0 };
    for (uint32_t i = 0, n = cluster_count(cluster); i < n; i++) {
        const struct node_spec *spec = &cluster_form(cluster, i)->spec;
        if (i + AHEAD < n) { /* they lie anywhere */
            __builtin_prefetch(&cluster_form(cluster, i + AHEAD)->spec.cpu_milli);
            __builtin_prefetch(&cluster_form(cluster, i + AHEAD)->spec.gpus);
        }
        if (cluster->nodes[i].up)
            vector_add(&total, &(struct vector){ .cpu_milli = spec->cpu_milli,
                                                 .memory = spec->memory,
                                                 .gpu_milli = UINT64_C(1000) * spec->gpus });
    }
    return total;
}

static void count_running(struct pass *pass)
{
    const struct sched_snapshot *s = pass->snapshot;
    for (size_t i = 0; i < s->n_running; i++) {
        const struct sched_running *r = &s->running[i];
        const struct quota_request ask = {
            .job = r->id, .queue = r->queue, .user = r->user, .demand = r->demand
        };
        if (r->idle)
            continue;
        quota_charge(pass->quota, r->queue, r->user, &ask.demand);
        quota_timeline_runs(pass->quota_timeline, &ask, pass->ends[i].at_ms);
    }
}

/* Jobs without a limit are taken to run as long as usual. Who is being ended is gone when its time
 * of grace is over, or sooner. */
static uint64_t end_of(const struct pass *pass, const struct sched_running *r)
{
    uint64_t began = r->started_ms ? r->started_ms : pass->now_ms;
    if (r->leaving) {
        uint64_t gone = pass->now_ms + r->held.spec->limits.grace_ms;
        return r->ends_ms && r->ends_ms < gone ? r->ends_ms : gone;
    }
    return r->ends_ms ? r->ends_ms : began + pass_usual(pass);
}

static void find_ends(struct pass *pass)
{
    const struct sched_snapshot *s = pass->snapshot;
    pass->ends = ARENA_ARRAY(pass->arena, s->n_running, struct future_release);
    for (size_t i = 0; i < s->n_running; i++) {
        const struct sched_running *r = &s->running[i];
        pass->ends[i] =
            (struct future_release){ .at_ms = end_of(pass, r), .job = r->id, .held = r->held };
        pass->leaves = pass->leaves || r->leaving;
    }
}

void pass_admit(struct pass *pass, const struct future_release *release)
{
    /* It was asked before: what is refused here is not in the picture of this pass, no more. */
    if (future_admit(pass->future, release))
        vec_push(&pass->begun, *release);
}

void pass_open(struct pass *pass, const struct sched_snapshot *s, uint64_t now_ms,
               struct arena *arena)
{
    *pass = (struct pass){ .snapshot = s, .now_ms = now_ms, .arena = arena };
    pass->cluster = cluster_clone(s->cluster);
    cluster_expire_blocks(pass->cluster, pass->now_ms);
    pass->failed = map_create();
    pass->depth = s->depth ? s->depth : DEPTH_DEFAULT;
    pass->steps = PASS_STEPS;
    pass->leaving = ARENA_ARRAY(pass->arena, s->n_running, bool);
    pass->ahead = reason_plain(WAIT_AHEAD);
    pass->after = reason_plain(WAIT_AFTER);
    pass->total = total_of(pass->cluster);
    pass->quota = quota_create(pass->arena, s->queues, s->n_queues);
    pass->started = ARENA_ARRAY(pass->arena, s->n_jobs, uint32_t);
    pass->waits = ARENA_ARRAY(pass->arena, s->n_jobs + s->n_more, struct waiting);
    pass->quota_timeline = quota_timeline_create(pass->arena, s->queues, s->n_queues, pass->now_ms);
    find_ends(pass);
    count_running(pass);
    pass->future =
        future_create(pass->cluster, pass->now_ms, pass->ends, s->n_running, pass->arena);
    pass->order = order_create(pass->arena, s, pass->quota, &pass->total, pass->now_ms);
    claim_prices(pass);
    for (size_t k = 0; k < s->n_more; k++)
        plan_more(pass, &s->more[k], false);
}

bool pass_next(struct pass *pass, size_t *job, struct rank *rank)
{
    return order_next(pass->order, job, rank);
}

struct plan pass_entries(struct pass *pass)
{
    for (size_t k = 0; k < pass->snapshot->n_more; k++)
        plan_more(pass, &pass->snapshot->more[k], true);
    for (size_t k = 0; k < pass->snapshot->n_jobs; k++)
        held_back(pass, k);
    for (size_t i = 0; i < pass->n_waits; i++) {
        struct plan_entry *e = pass_entry(pass);
        e->kind = PLAN_WAIT;
        e->job = pass->waits[i].job;
        e->reason = *pass->waits[i].reason;
        e->reason.ahead = pass->waits[i].ahead;
    }
    for (size_t i = 0; i < pass->others.n; i++)
        *pass_entry(pass) = pass->others.at[i];
    return (struct plan){ .at = pass->entries.at, .n = pass->entries.n };
}

void pass_close(struct pass *pass)
{
    vec_fini(&pass->begun);
    vec_fini(&pass->promises);
    vec_fini(&pass->claimants);
    map_destroy(pass->failed);
    future_destroy(pass->future);
    cluster_destroy(pass->cluster);
}

struct plan sched_plan(const struct sched_snapshot *snapshot, uint64_t now_ms, struct arena *arena)
{
    struct pass pass;
    struct rank rank;
    size_t i;
    pass_open(&pass, snapshot, now_ms, arena);
    while (pass_next(&pass, &i, &rank))
        pass_turn(&pass, i, &rank);
    struct plan plan = pass_entries(&pass);
    pass_close(&pass);
    return plan;
}

struct plan_entry sched_try(const struct cluster *cluster, const struct sched_job *job,
                            uint64_t now_ms, struct arena *arena)
{
    struct sched_snapshot one = { .cluster = cluster, .jobs = job, .n_jobs = 1 };
    return sched_plan(&one, now_ms, arena).at[0];
}

int sched_possible(const struct cluster *cluster, const struct job_spec *job, struct arena *arena,
                   struct wait_reason *reason)
{
    struct cluster *empty = cluster_clone_empty(cluster);
    struct arena *scratch = arena_create();
    struct placement placement;
    struct job_spec any_price = *job;
    any_price.spot_bid_milli = 0;             /* prices fall, too, */
    any_price.limits.run_time_ms.has = false; /* and allocations are followed by others */
    placement_init(&placement, scratch, empty, &any_price);
    enum gang_answer answer = gang_place(&placement);
    /* A job too large to be certain about is let in; its wait reason will say so. */
    bool possible =
        answer == GANG_PLACED || (answer == GANG_NOT_FOUND && cluster_count(cluster) > 0);
    if (!possible) {
        placement.arena = arena;
        *reason = reason_ever(&placement, answer);
    }
    arena_destroy(scratch);
    cluster_destroy(empty);
    return possible ? 0 : -1;
}
