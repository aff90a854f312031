/* The pass: one clone of the cluster, the jobs in the order given, one entry each.
 *
 * Within a pass room only shrinks, so a job of the same shape as one that did not fit does not fit
 * either: it gets the same reason without a look. Past `depth` blocked jobs nothing is looked at
 * any more. A blocked job reserves nothing. */
#include "sched/plan.h"

#include "base/map.h"
#include "sched/gang.h"
#include "sched/nodes.h"
#include "sched/reason.h"

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
    struct map *failed;      /* shape -> reason */
    uint32_t depth, blocked, steps;
    struct wait_reason ahead, after;
    uint32_t in_line; /* jobs of the order that wait for room so far */
    struct waiting *waits;
    size_t n_waits;
    struct plan plan;
};

static void add_wait(struct pass *pass, uint64_t job, const struct wait_reason *reason,
                     uint32_t ahead)
{
    pass->waits[pass->n_waits++] = (struct waiting){ .job = job, .reason = reason, .ahead = ahead };
}

static void add_placed(struct pass *pass, enum plan_kind kind, uint64_t job,
                       const struct crew *crew)
{
    pass->plan.at[pass->plan.n++] = (struct plan_entry){
        .kind = kind, .job = job, .tasks = crew->places, .n_tasks = crew->n_places
    };
}

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

/* NULL: placed. */
static const struct wait_reason *place_job(struct pass *pass, const struct sched_job *job)
{
    uint64_t shape = want_shape(job->spec);
    const struct wait_reason *known = map_get(pass->failed, shape);
    if (known)
        return known;
    struct crew crew;
    crew_init(&crew, pass->arena, pass->cluster, job->spec);
    crew.steps = &pass->steps;
    enum gang_answer answer = gang_place(&crew);
    if (answer == GANG_PLACED) {
        add_placed(pass, PLAN_ADMIT, job->id, &crew);
        return NULL;
    }
    struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
    *reason = reason_now(&crew, answer);
    map_set(pass->failed, shape, reason);
    return reason;
}

/* The clone's places are taken by all jobs of the bundle, or the clone is thrown away. */
static const struct wait_reason *place_bundle(struct pass *pass, const struct sched_job **jobs,
                                              size_t n)
{
    struct crew *crews = ARENA_ARRAY(pass->arena, n, struct crew);
    struct cluster *trial = cluster_clone(pass->cluster);
    for (size_t i = 0; i < n; i++) {
        crew_init(&crews[i], pass->arena, trial, jobs[i]->spec);
        crews[i].steps = &pass->steps;
        enum gang_answer answer = gang_place(&crews[i]);
        if (answer == GANG_PLACED)
            continue;
        struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
        *reason = reason_now(&crews[i], answer);
        reason->text = arena_printf(pass->arena, "%u jobs start together; %s: %s", (unsigned)n,
                                    jobs[i]->spec->name ? jobs[i]->spec->name : "", reason->text);
        cluster_destroy(trial);
        return reason;
    }
    cluster_destroy(pass->cluster);
    pass->cluster = trial;
    for (size_t i = 0; i < n; i++)
        add_placed(pass, PLAN_ADMIT, jobs[i]->id, &crews[i]);
    return NULL;
}

/* All of them at the turn of the first. */
static void plan_bundle(struct pass *pass, size_t at)
{
    const struct sched_snapshot *s = pass->snapshot;
    const struct sched_job **jobs = ARENA_ARRAY(pass->arena, s->n_jobs, const struct sched_job *);
    size_t n = 0;
    for (size_t i = 0; i < s->n_jobs; i++) {
        if (s->jobs[i].bundle != s->jobs[at].bundle)
            continue;
        if (i < at)
            return; /* planned already */
        jobs[n++] = &s->jobs[i];
    }
    bool all = n == s->jobs[at].bundle_size && pass->blocked < pass->depth;
    const struct wait_reason *blocked = all ? place_bundle(pass, jobs, n) : &pass->ahead;
    if (!blocked)
        return;
    pass->blocked++;
    for (size_t i = 0; i < n; i++)
        add_wait(pass, jobs[i]->id, blocked, pass->in_line++);
}

static const struct wait_reason *back_off(struct pass *pass, uint64_t until_ms)
{
    struct wait_reason *reason = ARENA_NEW(pass->arena, struct wait_reason);
    *reason = reason_plain(WAIT_TIME);
    reason->until_ms = until_ms;
    return reason;
}

static void plan_job(struct pass *pass, const struct sched_job *job)
{
    if (job->blocked_after) {
        add_wait(pass, job->id, &pass->after, 0);
    } else if (job->not_before_ms > pass->now_ms) {
        add_wait(pass, job->id, back_off(pass, job->not_before_ms), 0);
    } else if (pass->blocked >= pass->depth) {
        add_wait(pass, job->id, &pass->ahead, pass->in_line++);
    } else {
        const struct wait_reason *blocked = place_job(pass, job);
        if (!blocked)
            return;
        pass->blocked++;
        add_wait(pass, job->id, blocked, pass->in_line++);
    }
}

static void pass_begin(struct pass *pass)
{
    const struct sched_snapshot *s = pass->snapshot;
    size_t n = s->n_jobs + s->n_more;
    pass->cluster = cluster_clone(s->cluster);
    cluster_expire_blocks(pass->cluster, pass->now_ms);
    pass->failed = map_create();
    pass->depth = s->depth ? s->depth : DEPTH_DEFAULT;
    pass->steps = PASS_STEPS;
    pass->ahead = reason_plain(WAIT_AHEAD);
    pass->after = reason_plain(WAIT_AFTER);
    pass->plan.at = ARENA_ARRAY(pass->arena, n, struct plan_entry);
    pass->waits = ARENA_ARRAY(pass->arena, n, struct waiting);
}

static struct plan pass_end(struct pass *pass)
{
    for (size_t i = 0; i < pass->n_waits; i++) {
        struct plan_entry *e = &pass->plan.at[pass->plan.n++];
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
    pass_begin(&pass);
    for (size_t i = 0; i < snapshot->n_more; i++)
        plan_more(&pass, &snapshot->more[i]);
    for (size_t i = 0; i < snapshot->n_jobs; i++)
        if (snapshot->jobs[i].bundle)
            plan_bundle(&pass, i);
        else
            plan_job(&pass, &snapshot->jobs[i]);
    return pass_end(&pass);
}

uint64_t sched_shape(const struct job_spec *job)
{
    return want_shape(job);
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
