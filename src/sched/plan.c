/* The pass: one clone of the cluster, the jobs in the order of their ranks.
 *
 * Within a pass room only shrinks and promises only come to it, so a job of the same shape as one
 * that did not fit does not fit either: it gets the same reason without a look. Past `depth`
 * blocked jobs nothing is looked at any more. The first blocked job of a queue is promised the
 * earliest time that it fits, and nothing that starts after it in the pass may delay that. */
#include "sched/plan.h"

#include "sched/gang.h"
#include "sched/nodes.h"
#include "sched/pass.h"
#include "sched/reason.h"

#include <string.h>

#define DEPTH_DEFAULT 256u
#define PASS_STEPS    131072u /* of exhaustive search, for all jobs of a pass together */

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

static void add_wait(struct pass *pass, uint64_t job, const struct wait_reason *reason,
                     uint32_t ahead)
{
    pass->waits[pass->n_waits++] = (struct waiting){ .job = job, .reason = reason, .ahead = ahead };
}

static void add_placed(struct pass *pass, enum plan_kind kind, uint64_t job,
                       const struct crew *crew)
{
    *pass_entry(pass) = (struct plan_entry){
        .kind = kind, .job = job, .tasks = crew->places, .n_tasks = crew->n_places
    };
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

/* What a job cannot go on without comes first; what it grows by, after all that wait. */
static void plan_more(struct pass *pass, const struct sched_more *more, bool growth)
{
    struct crew crew;
    crew_init_more(&crew, pass->arena, pass->cluster, more);
    if (crew.trickles != growth)
        return;
    crew.steps = &pass->steps;
    enum gang_answer answer = gang_place(&crew);
    struct wait_reason reason = { .why = WAIT_NONE };
    if (answer != GANG_PLACED) {
        reason = reason_now(&crew, answer);
        crew.n_places = 0;
        if (growth) {
            crew_init_more(&crew, pass->arena, pass->cluster, more);
            gang_place_some(&crew);
        }
    }
    const struct held held = held_of(more->spec, crew.places, crew.n_places);
    const struct future_release release = { .at_ms = pass->now_ms + pass_lasts(pass, more->spec),
                                            .job = more->id,
                                            .held = held };
    if (crew.n_places && growth && !future_allows(pass->future, &release, 1)) {
        held_give(pass->cluster, &held);
        reason = reason_plain(WAIT_RESERVED);
        reason.blocker = pass->promised_to;
        crew.n_places = 0;
    }
    if (crew.n_places == 0) {
        add_wait(pass, more->id, pass_reason(pass, &reason), 0);
        return;
    }
    future_admit(pass->future, &release);
    add_placed(pass, PLAN_MORE, more->id, &crew);
    pass->entries.at[pass->entries.n - 1].reason = reason;
}

/* ---- waiting jobs ---- */

const struct wait_reason *pass_over_quota(struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    const struct vector demand = vector_of_job(job->spec);
    if (start_idle(pass, i))
        return NULL; /* not counted there */
    struct quota_look look = quota_ask(pass->quota, job->queue, job->user, &demand);
    if (look.answer == QUOTA_SURE || look.answer == QUOTA_BORROWED)
        return NULL;
    const struct wait_reason reason =
        reason_quota(pass->arena, &look, &pass->snapshot->queues[look.queue], &demand);
    return pass_reason(pass, &reason);
}

static void start(struct pass *pass, size_t i)
{
    if (!start_idle(pass, i))
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
    order_blocked(pass->order, i, rank);
    pass->blocked++;
    keep_waiting(pass, i, reason);
}

static void give_back(struct pass *pass, const struct future_release *placed, size_t n)
{
    for (size_t k = 0; k < n; k++)
        held_give(pass->cluster, &placed[k].held);
}

/* Places for all jobs of the bundle, or none. */
static const struct wait_reason *place_bundle(struct pass *pass, const size_t *jobs, size_t n)
{
    struct crew *crews = ARENA_ARRAY(pass->arena, n, struct crew);
    struct future_release *placed = ARENA_ARRAY(pass->arena, n, struct future_release);
    for (size_t k = 0; k < n; k++) {
        const struct job_spec *spec = job_at(pass, jobs[k])->spec;
        crew_init(&crews[k], pass->arena, pass->cluster, spec);
        crews[k].steps = &pass->steps;
        enum gang_answer answer = gang_place(&crews[k]);
        placed[k] = (struct future_release){ .at_ms = pass->now_ms + pass_lasts(pass, spec),
                                             .job = job_at(pass, jobs[k])->id };
        if (answer == GANG_PLACED) {
            placed[k].held = held_of(spec, crews[k].places, crews[k].n_places);
            continue;
        }
        struct wait_reason reason = reason_now(&crews[k], answer);
        reason.text = arena_printf(pass->arena, "%u jobs start together; %s: %s", (unsigned)n,
                                   spec->name ? spec->name : "", reason.text);
        give_back(pass, placed, k);
        return pass_reason(pass, &reason);
    }
    if (!future_allows(pass->future, placed, n)) {
        struct wait_reason reason = reason_plain(WAIT_RESERVED);
        reason.blocker = pass->promised_to;
        give_back(pass, placed, n);
        return pass_reason(pass, &reason);
    }
    for (size_t k = 0; k < n; k++) {
        future_admit(pass->future, &placed[k]);
        add_placed(pass, PLAN_ADMIT, placed[k].job, &crews[k]);
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
        if (pass_over_quota(pass, jobs[k]))
            why = pass_over_quota(pass, jobs[k]);
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

void pass_turn(struct pass *pass, size_t i, const struct rank *rank)
{
    if (job_at(pass, i)->bundle) {
        plan_bundle(pass, i, rank);
        return;
    }
    if (pass->blocked >= pass->depth || order_closed(pass->order, i)) {
        keep_waiting(pass, i, &pass->ahead);
        return;
    }
    const struct wait_reason *why = pass_over_quota(pass, i);
    bool over = why != NULL;
    if (!why)
        why = start_job(pass, i, rank->id);
    if (!why) {
        start(pass, i);
        return;
    }
    bool claims =
        !over && why->why == WAIT_RESOURCE && !rank->claims && claim_room(pass, i, rank->id);
    if (!over && (claims || rank->claims || order_first_blocked(pass->order, i)))
        why = start_later(pass, i, rank->id, why);
    if (claims || (!over && rank->claims)) {
        struct wait_reason *evicting = pass_reason(pass, why);
        evicting->why = WAIT_EVICTING;
        evicting->text = arena_printf(pass->arena, "others are being ended for it; %s", why->text);
        why = evicting;
    }
    blocked(pass, i, rank, why);
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
        const struct sched_running *r = &s->running[i];
        if (!r->idle)
            quota_charge(pass->quota, r->queue, r->user, &r->demand);
    }
}

/* Jobs without a limit are taken to run as long as usual. */
static void make_future(struct pass *pass)
{
    const struct sched_snapshot *s = pass->snapshot;
    struct future_release *ends = ARENA_ARRAY(pass->arena, s->n_running, struct future_release);
    for (size_t i = 0; i < s->n_running; i++) {
        const struct sched_running *r = &s->running[i];
        uint64_t began = r->started_ms ? r->started_ms : pass->now_ms;
        ends[i] = (struct future_release){ .at_ms = r->ends_ms, .job = r->id, .held = r->held };
        if (r->leaving)
            ends[i].at_ms = pass->now_ms + r->held.spec->limits.grace_ms;
        else if (!r->ends_ms)
            ends[i].at_ms = began + pass_usual(pass);
    }
    pass->ends = ends;
    pass->future = future_create(pass->cluster, pass->now_ms, ends, s->n_running, pass->arena);
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
    count_running(pass);
    make_future(pass);
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
    struct crew crew;
    struct job_spec any_price = *job;
    any_price.spot_bid_milli = 0; /* prices fall, too */
    crew_init(&crew, scratch, empty, &any_price);
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
