/* A job whose turn it is: may its queue and its user have it, and places for it now, beside what is
 * promised to others; or a promise of its own.
 *
 * While nothing is promised a job goes where it fits best. When something is, its places are
 * checked against every promise; only when they are in the way the future is asked for others,
 * which costs more and is done for a bounded number of jobs in a pass. */
#include "sched/gang.h"
#include "sched/job_shape.h"
#include "sched/nodes.h"
#include "sched/pass.h"
#include "sched/reason.h"

#define SQUEEZES_MAX 32u
#define HEADS_MAX    8u /* jobs over a limit for which room is looked for too, in a pass */
#define AGREE_MAX    4u /* looks for a time that limits and room agree on */

uint64_t pass_usual(const struct pass *pass)
{
    return pass->snapshot->run_ms ? pass->snapshot->run_ms : RUN_MS_DEFAULT;
}

uint64_t pass_lasts(const struct pass *pass, const struct job_spec *spec)
{
    return spec->limits.run_time_ms.has ? spec->limits.run_time_ms.value : pass_usual(pass);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- limits ---- */

bool start_idle(const struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    if (job->spec->capacity != CAPACITY_ANY)
        return job->spec->capacity == CAPACITY_IDLE;
    const struct vector *demand = order_demand(pass->order, i);
    enum quota_answer answer = quota_ask(pass->quota, job->queue, job->user, demand).answer;
    return answer == QUOTA_MOST || answer == QUOTA_USER;
}

struct quota_request start_ask(const struct pass *pass, size_t i, uint64_t id)
{
    const struct sched_job *job = job_at(pass, i);
    return (struct quota_request){ .job = id,
                                   .queue = job->queue,
                                   .user = job->user,
                                   .demand = *order_demand(pass->order, i),
                                   .lasts_ms = pass_lasts(pass, job->spec) };
}

bool start_hopeless(const struct pass *pass, size_t i)
{
    const struct sched_job *job = job_at(pass, i);
    return !quota_allows(pass->quota, job->queue, order_demand(pass->order, i));
}

static bool is_over(const struct quota_check *look)
{
    return look->answer == QUOTA_MOST || look->answer == QUOTA_USER;
}

const struct wait_reason *start_over(struct pass *pass, size_t i, uint64_t id)
{
    const struct quota_request ask = start_ask(pass, i, id);
    if (start_idle(pass, i))
        return NULL; /* not counted there */
    struct quota_check look = quota_ask(pass->quota, ask.queue, ask.user, &ask.demand);
    if (is_over(&look)) {
        const struct wait_reason reason =
            reason_quota(&look, &pass->snapshot->queues[look.queue], &ask.demand);
        return pass_reason(pass, &reason);
    }
    uint64_t blocker = quota_timeline_blocker(pass->quota_timeline, &ask);
    if (!blocker)
        return NULL;
    struct wait_reason *kept = pass_reason(pass, &(struct wait_reason){ .why = WAIT_RESERVED });
    *kept = reason_plain(WAIT_RESERVED);
    kept->blocker = blocker;
    kept->queue = ask.queue;
    kept->resource = "quota";
    kept->says = SAYS_SHARE_KEPT;
    return kept;
}

/* ---- room ---- */

static struct future_release release_of(const struct pass *pass, const struct job_spec *spec,
                                        uint64_t id, const struct held_places *held)
{
    return (struct future_release){ .at_ms = later(pass->now_ms, pass_lasts(pass, spec)),
                                    .job = id,
                                    .held = *held };
}

static bool is_about(const struct pass *pass, const struct plan_entry *promised, const bool *nodes)
{
    for (uint32_t i = 0; i < promised->n_tasks; i++)
        if (nodes[place_node(pass->cluster, &promised->tasks[i])])
            return true;
    return false;
}

/* Of the promises the first that is about a node it would go to. */
static const struct wait_reason *in_the_way(struct pass *pass, const struct held_places *held)
{
    struct wait_reason r = reason_plain(WAIT_RESERVED);
    bool *nodes = ARENA_ARRAY(pass->arena, cluster_count(pass->cluster), bool);
    for (uint32_t i = 0; i < held->n; i++)
        nodes[held_places_node(held, pass->cluster, i)] = true;
    r.blocker = pass->promised_to;
    for (size_t i = 0; i < pass->others.n; i++) {
        const struct plan_entry *other = &pass->others.at[i];
        if (other->kind == PLAN_RESERVE && is_about(pass, other, nodes)) {
            r.blocker = other->job;
            break;
        }
    }
    return pass_reason(pass, &r);
}

/* Other places than the best ones, that are in nobody's way. */
static const struct wait_reason *squeeze_in(struct pass *pass, const struct future_ask *ask,
                                            struct placed_job *out)
{
    struct promise found;
    if (pass->squeezes++ >= SQUEEZES_MAX || !future_holds(pass->future, ask, pass->now_ms, &found))
        return in_the_way(pass, &out->release.held);
    const struct wait_reason *reason = in_the_way(pass, &out->release.held);
    out->release.held = held_places_of(ask->spec, found.places, found.n_places);
    out->places = found.places;
    out->n_places = found.n_places;
    if (!held_places_take(pass->cluster, &out->release.held))
        return reason;
    if (future_allows(pass->future, &out->release, 1))
        return NULL;
    held_places_give(pass->cluster, &out->release.held);
    return reason;
}

const struct wait_reason *start_seat(struct pass *pass, const struct job_spec *spec, uint64_t id,
                                     struct placed_job *out)
{
    struct placement placement;
    placement_init(&placement, pass->arena, pass->cluster, spec);
    placement.steps = &pass->steps;
    enum gang_answer answer = gang_place(&placement);
    if (answer != GANG_PLACED) {
        const struct wait_reason now = reason_now(&placement, answer);
        return pass_reason(pass, &now);
    }
    const struct held_places held = held_places_of(spec, placement.places, placement.n_places);
    *out = (struct placed_job){ .release = release_of(pass, spec, id, &held),
                                .places = placement.places,
                                .n_places = placement.n_places };
    if (!future_promised(pass->future) || future_allows(pass->future, &out->release, 1))
        return NULL;
    held_places_give(pass->cluster, &held);
    const struct future_ask ask = { .job = id, .spec = spec, .lasts_ms = pass_lasts(pass, spec) };
    return squeeze_in(pass, &ask, out);
}

const struct wait_reason *start_job(struct pass *pass, size_t i, uint64_t id)
{
    const struct job_spec *spec = job_at(pass, i)->spec;
    uint64_t shape = job_shape(spec);
    struct placed_job seated;
    const struct wait_reason *reason = map_get(pass->failed, shape);
    if (reason)
        return reason;
    reason = start_seat(pass, spec, id, &seated);
    if (reason) {
        map_set(pass->failed, shape, (void *)(uintptr_t)reason);
        return reason;
    }
    pass_admit(pass, &seated.release);
    *pass_entry(pass) = (struct plan_entry){ .kind = PLAN_ADMIT,
                                             .job = id,
                                             .tasks = seated.places,
                                             .n_tasks = seated.n_places,
                                             .right = pass->right,
                                             .idle = start_idle(pass, i) };
    return NULL;
}

/* ---- later ---- */

/* The earliest time, not before from_ms, at which there is room and the limits (ask NULL: none
 * count) still let it. */
static bool find_time(struct pass *pass, struct future_ask *ask, const struct quota_request *limits,
                      uint64_t from_ms, struct promise *promise)
{
    for (uint32_t i = 0; i < AGREE_MAX && from_ms != QUOTA_NEVER; i++) {
        ask->from_ms = from_ms;
        if (!future_earliest(pass->future, ask, promise))
            return false;
        if (limits)
            from_ms = quota_timeline_earliest(pass->quota_timeline, limits, promise->at_ms);
        if (!limits || from_ms == promise->at_ms)
            return future_reserve(pass->future, promise);
    }
    return false;
}

/* Promises of one time would come in another order in the next pass, when ranks below the promise
 * have changed, and the earlier one could lose its places: each is told a millisecond more. */
static uint64_t told_time(const struct pass *pass, const struct promise *promise)
{
    uint64_t same = 0;
    for (size_t i = 0; i < pass->promises.n; i++)
        same += pass->promises.at[i].at_ms == promise->at_ms;
    return later(promise->at_ms, same);
}

static void add_promise(struct pass *pass, const struct promise *promise)
{
    uint64_t told_ms = told_time(pass, promise);
    pass->promised_to = pass->promised_to ? pass->promised_to : promise->job;
    vec_push(&pass->promises, *promise);
    *pass_later(pass) = (struct plan_entry){ .kind = PLAN_RESERVE,
                                             .job = promise->job,
                                             .at_ms = told_ms,
                                             .by = promise->after_job,
                                             .right = pass->right,
                                             .tasks = promise->places,
                                             .n_tasks = promise->n_places };
}

/* For one that is over the limit of its user, or behind one that is over a limit, nothing is kept
 * but that limit: others are not to wait for what those do. Unless it was told a time when it was
 * not: of its user, those may have started that are over by then. */
const struct wait_reason *start_later(struct pass *pass, size_t i, uint64_t id,
                                      const struct wait_reason *reason)
{
    const struct quota_request limits = start_ask(pass, i, id);
    const struct job_spec *spec = job_at(pass, i)->spec;
    struct future_ask ask = { .job = id, .spec = spec, .lasts_ms = limits.lasts_ms };
    struct promise promise;
    bool counts = !start_idle(pass, i);
    uint64_t from = counts ? quota_timeline_earliest(pass->quota_timeline, &limits, pass->now_ms)
                           : pass->now_ms;
    if (from == QUOTA_NEVER)
        return reason;
    bool told = job_at(pass, i)->id == id && job_at(pass, i)->promised_ms;
    bool looks =
        told || from == pass->now_ms || (reason->why == WAIT_QUOTA && pass->heads++ < HEADS_MAX);
    bool found = looks && find_time(pass, &ask, counts ? &limits : NULL, from, &promise);
    if (!found && from == pass->now_ms)
        return reason;
    struct wait_reason *with = pass_reason(pass, reason);
    with->at_ms = found ? promise.at_ms : from;
    if (counts)
        quota_timeline_keep(pass->quota_timeline, &limits, with->at_ms);
    if (found)
        add_promise(pass, &promise);
    return with;
}
