/* The pass: one clone of the cluster, the jobs in the order of their ranks.
 *
 * Within a pass room only shrinks, so a job of the same shape as one that did not fit does not fit
 * either: it gets the same reason without a look. Past `depth` blocked jobs nothing is looked at
 * any more. */
#include "sched/plan.h"

#include "base/map.h"
#include "sched/gang.h"
#include "sched/nodes.h"
#include "sched/order.h"
#include "sched/reason.h"

#include <string.h>

#define DEPTH_DEFAULT 256u
#define PASS_STEPS    131072u /* of exhaustive search, for all jobs of a pass together */

struct waiting { /* becomes an entry at the end: most jobs wait, and entries are large */
    uint64_t job;
    const struct wait_reason *reason;
    uint32_t ahead;
};

struct pass {
    const struct sched_snapshot *snapshot;
    uint64_t now_ms;
    struct arena *arena;     /* of the plan */
    struct cluster *cluster; /* the clone */
    struct quota *quota;
    struct order *order;
    struct vector total;
    uint32_t *started;  /* of each job and those alike behind it */
    struct map *failed; /* shape -> reason */
    uint32_t depth, blocked, steps;
    struct wait_reason ahead, after;
    uint32_t in_line; /* jobs of the order that wait for room so far */
    uint64_t first_blocked;
    struct waiting *waits;
    size_t n_waits;
    struct plan plan;
    size_t cap;
};

static struct plan_entry *add_entry(struct pass *pass)
{
    if (pass->plan.n == pass->cap) {
        pass->cap = pass->cap ? 2 * pass->cap : 16;
        struct plan_entry *wider = ARENA_ARRAY(pass->arena, pass->cap, struct plan_entry);
        if (pass->plan.n)
            memcpy(wider, pass->plan.at, pass->plan.n * sizeof *wider);
        pass->plan.at = wider;
    }
    return &pass->plan.at[pass->plan.n++];
}

static void add_wait(struct pass *pass, uint64_t job, const struct wait_reason *reason,
                     uint32_t ahead)
{
    pass->waits[pass->n_waits++] = (struct waiting){ .job = job, .reason = reason, .ahead = ahead };
}

static void add_placed(struct pass *pass, enum plan_kind kind, uint64_t job,
                       const struct crew *crew)
{
    *add_entry(pass) = (struct plan_entry){
        .kind = kind, .job = job, .tasks = crew->places, .n_tasks = crew->n_places
    };
}

static const struct sched_job *job_at(const struct pass *pass, size_t i)
{
    return &pass->snapshot->jobs[i];
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

static void charge(struct pass *pass, const struct sched_job *job)
{
    struct vector demand = vector_of_job(job->spec);
    quota_charge(pass->quota, job->queue, job->user, &demand);
}

/* ---- tasks of running jobs ---- */

static void plan_more(struct pass *pass, const struct sched_more *more)
{
    struct crew crew;
    crew_init_more(&crew, pass->arena, pass->cluster, more);
    crew.steps = &pass->steps;
    enum gang_answer answer = gang_place(&crew);
    if (answer == GANG_PLACED) {
        add_placed(pass, PLAN_MORE, more->id, &crew);
        return;
    }
    struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
    *reason = reason_now(&crew, answer);
    if (crew.trickles) {
        crew_init_more(&crew, pass->arena, pass->cluster, more);
        gang_place_some(&crew);
        if (crew.n_places > 0) {
            add_placed(pass, PLAN_MORE, more->id, &crew);
            pass->plan.at[pass->plan.n - 1].reason = *reason;
            return;
        }
    }
    add_wait(pass, more->id, reason, 0);
}

/* ---- waiting jobs ---- */

/* NULL: placed. */
static const struct wait_reason *place_job(struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    uint64_t shape = want_shape(job->spec);
    const struct wait_reason *known = map_get(pass->failed, shape);
    if (known)
        return known;
    struct crew crew;
    crew_init(&crew, pass->arena, pass->cluster, job->spec);
    crew.steps = &pass->steps;
    enum gang_answer answer = gang_place(&crew);
    if (answer == GANG_PLACED) {
        add_placed(pass, PLAN_ADMIT, first_left(pass, i), &crew);
        return NULL;
    }
    struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
    *reason = reason_now(&crew, answer);
    map_set(pass->failed, shape, reason);
    return reason;
}

/* NULL: the queue and the user may have what the job asks. */
static const struct wait_reason *over_quota(struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    const struct vector demand = vector_of_job(job->spec);
    struct quota_look look = quota_ask(pass->quota, job->queue, job->user, &demand);
    if (look.answer == QUOTA_SURE || look.answer == QUOTA_BORROWED)
        return NULL;
    struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
    *reason = reason_quota(pass->arena, &look, &pass->snapshot->queues[look.queue], &demand);
    return reason;
}

static void start(struct pass *pass, size_t i)
{
    charge(pass, job_at(pass, i));
    pass->started[i]++;
    if (left(pass, i) > 0)
        order_again(pass->order, i, first_left(pass, i));
}

static void keep_waiting(struct pass *pass, size_t i, const struct wait_reason *reason)
{
    add_wait(pass, first_left(pass, i), reason, pass->in_line);
    pass->in_line += left(pass, i);
}

static void blocked(struct pass *pass, size_t i, const struct rank *rank,
                    const struct wait_reason *reason)
{
    pass->first_blocked = pass->first_blocked ? pass->first_blocked : rank->id;
    order_blocked(pass->order, i, rank);
    pass->blocked++;
    keep_waiting(pass, i, reason);
}

/* The clone's places are taken by all jobs of the bundle, or the clone is thrown away. */
static const struct wait_reason *place_bundle(struct pass *pass, const size_t *jobs, size_t n)
{
    struct crew *crews = ARENA_ARRAY(pass->arena, n, struct crew);
    struct cluster *trial = cluster_clone(pass->cluster);
    for (size_t k = 0; k < n; k++) {
        const struct job_spec *spec = job_at(pass, jobs[k])->spec;
        crew_init(&crews[k], pass->arena, trial, spec);
        crews[k].steps = &pass->steps;
        enum gang_answer answer = gang_place(&crews[k]);
        if (answer == GANG_PLACED)
            continue;
        struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
        *reason = reason_now(&crews[k], answer);
        reason->text = arena_printf(pass->arena, "%u jobs start together; %s: %s", (unsigned)n,
                                    spec->name ? spec->name : "", reason->text);
        cluster_destroy(trial);
        return reason;
    }
    cluster_destroy(pass->cluster);
    pass->cluster = trial;
    for (size_t k = 0; k < n; k++) {
        add_placed(pass, PLAN_ADMIT, job_at(pass, jobs[k])->id, &crews[k]);
        start(pass, jobs[k]);
    }
    return NULL;
}

/* Is it counted out by now: started or made to wait with another one of its bundle? */
static bool bundle_over(const struct pass *pass, size_t i)
{
    return pass->started[i] > 0;
}

/* All of them at the turn of the first. */
static void plan_bundle(struct pass *pass, size_t at, const struct rank *rank)
{
    const struct sched_snapshot *s = pass->snapshot;
    size_t *jobs = ARENA_ARRAY(pass->arena, s->n_jobs, size_t), n = 0;
    if (bundle_over(pass, at))
        return;
    jobs[n++] = at;
    for (size_t i = 0; i < s->n_jobs; i++)
        if (i != at && s->jobs[i].bundle == s->jobs[at].bundle)
            jobs[n++] = i;
    const struct wait_reason *why = &pass->ahead;
    for (size_t k = 0; k < n; k++)
        if (over_quota(pass, jobs[k]))
            why = over_quota(pass, jobs[k]);
    bool all = n == s->jobs[at].bundle_size && pass->blocked < pass->depth;
    if (all && why == &pass->ahead)
        why = place_bundle(pass, jobs, n);
    if (!why)
        return;
    for (size_t k = 0; k < n; k++) {
        pass->started[jobs[k]] = 1; /* its turn is over */
        add_wait(pass, job_at(pass, jobs[k])->id, why, pass->in_line++);
    }
    order_blocked(pass->order, at, rank);
    pass->blocked++;
}

static void plan_job(struct pass *pass, size_t i, const struct rank *rank)
{
    if (job_at(pass, i)->bundle) {
        plan_bundle(pass, i, rank);
        return;
    }
    if (pass->blocked >= pass->depth || order_closed(pass->order, i)) {
        keep_waiting(pass, i, &pass->ahead);
        return;
    }
    const struct wait_reason *why = over_quota(pass, i);
    if (!why)
        why = place_job(pass, i);
    if (why)
        blocked(pass, i, rank, why);
    else
        start(pass, i);
}

/* Those that no turn comes to: a back-off, other jobs. */
static void held_back(struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    if (job->blocked_after) {
        add_wait(pass, job->id, &pass->after, 0);
    } else if (job->not_before_ms > pass->now_ms) {
        struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
        *reason = reason_plain(WAIT_TIME);
        reason->until_ms = job->not_before_ms;
        add_wait(pass, job->id, reason, 0);
    }
}

/* ---- the pass ---- */

static struct vector total_of(const struct cluster *cluster)
{
    struct vector total = { 0 };
    for (uint32_t i = 0; i < cluster_count(cluster); i++) {
        const struct node_spec *spec = &cluster_form(cluster, i)->spec;
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
        struct vector held = vector_of_job(s->running[i].held.spec);
        quota_charge(pass->quota, s->running[i].queue, s->running[i].user, &held);
    }
}

static void pass_begin(struct pass *pass)
{
    const struct sched_snapshot *s = pass->snapshot;
    pass->cluster = cluster_clone(s->cluster);
    cluster_expire_blocks(pass->cluster, pass->now_ms);
    pass->failed = map_create();
    pass->depth = s->depth ? s->depth : DEPTH_DEFAULT;
    pass->steps = PASS_STEPS;
    pass->ahead = reason_plain(WAIT_AHEAD);
    pass->after = reason_plain(WAIT_AFTER);
    pass->total = total_of(pass->cluster);
    pass->quota = quota_create(pass->arena, s->queues, s->n_queues);
    pass->started = ARENA_ARRAY(pass->arena, s->n_jobs, uint32_t);
    pass->waits = ARENA_ARRAY(pass->arena, s->n_jobs + s->n_more, struct waiting);
    count_running(pass);
    pass->order = order_create(pass->arena, s, pass->quota, &pass->total, pass->now_ms);
}

static struct plan pass_end(struct pass *pass)
{
    for (size_t i = 0; i < pass->n_waits; i++) {
        struct plan_entry *e = add_entry(pass);
        e->kind = PLAN_WAIT;
        e->job = pass->waits[i].job;
        e->reason = *pass->waits[i].reason;
        e->reason.ahead = pass->waits[i].ahead;
    }
    map_destroy(pass->failed);
    cluster_destroy(pass->cluster);
    return pass->plan;
}

struct plan sched_plan(const struct sched_snapshot *snapshot, uint64_t now_ms, struct arena *arena)
{
    struct pass pass = { .snapshot = snapshot, .now_ms = now_ms, .arena = arena };
    struct rank rank;
    size_t i;
    pass_begin(&pass);
    for (size_t k = 0; k < snapshot->n_more; k++)
        plan_more(&pass, &snapshot->more[k]);
    while (order_next(pass.order, &i, &rank))
        plan_job(&pass, i, &rank);
    for (size_t k = 0; k < snapshot->n_jobs; k++)
        held_back(&pass, k);
    return pass_end(&pass);
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
    struct crew crew;
    crew_init(&crew, scratch, empty, job);
    enum gang_answer answer = gang_place(&crew);
    /* A job too large to be certain about is let in; its wait reason will say so. */
    bool possible =
        answer == GANG_PLACED || (answer == GANG_NOT_FOUND && cluster_count(cluster) > 0);
    if (!possible) {
        crew.arena = arena;
        *reason = reason_ever(&crew, answer);
    }
    arena_destroy(scratch);
    cluster_destroy(empty);
    return possible ? 0 : -1;
}
