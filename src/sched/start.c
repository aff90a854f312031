/* A job whose turn it is: places for it now, beside what is promised to others; or a promise of its
 * own.
 *
 * While nothing is promised a job goes where it fits best. When something is, its places are
 * checked against every promise; only when they are in the way the future is asked for others,
 * which costs more and is done for a bounded number of jobs in a pass. */
#include "sched/fit.h"
#include "sched/gang.h"
#include "sched/nodes.h"
#include "sched/pass.h"
#include "sched/reason.h"

#include <inttypes.h>

#define SQUEEZES_MAX 32u

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

static void add_admit(struct pass *pass, size_t i, uint64_t id, struct task_place *places,
                      uint32_t n)
{
    *pass_entry(pass) = (struct plan_entry){
        .kind = PLAN_ADMIT, .job = id, .tasks = places, .n_tasks = n, .idle = start_idle(pass, i)
    };
}

static struct future_release release_of(const struct pass *pass, const struct job_spec *spec,
                                        uint64_t id, const struct held *held)
{
    return (struct future_release){ .at_ms = later(pass->now_ms, pass_lasts(pass, spec)),
                                    .job = id,
                                    .held = *held };
}

static const struct wait_reason *in_the_way(struct pass *pass)
{
    struct wait_reason r = reason_plain(WAIT_RESERVED);
    r.blocker = pass->promised_to;
    return pass_reason(pass, &r);
}

/* Other places than the best ones, that are in nobody's way. */
static const struct wait_reason *squeeze_in(struct pass *pass, size_t i, uint64_t id)
{
    const struct job_spec *spec = job_at(pass, i)->spec;
    const struct future_ask ask = { .job = id, .spec = spec, .lasts_ms = pass_lasts(pass, spec) };
    struct promise found;
    if (pass->squeezes++ >= SQUEEZES_MAX || !future_holds(pass->future, &ask, pass->now_ms, &found))
        return in_the_way(pass);
    const struct held held = held_of(spec, found.places, found.n_places);
    const struct future_release release = release_of(pass, spec, id, &held);
    if (!held_take(pass->cluster, &held))
        return in_the_way(pass);
    if (!future_admit(pass->future, &release)) {
        held_give(pass->cluster, &held);
        return in_the_way(pass);
    }
    add_admit(pass, i, id, found.places, found.n_places);
    return NULL;
}

const struct wait_reason *start_job(struct pass *pass, size_t i, uint64_t id)
{
    const struct job_spec *spec = job_at(pass, i)->spec;
    uint64_t shape = want_shape(spec);
    const struct wait_reason *known = map_get(pass->failed, shape);
    if (known)
        return known;
    struct crew crew;
    crew_init(&crew, pass->arena, pass->cluster, spec);
    crew.steps = &pass->steps;
    enum gang_answer answer = gang_place(&crew);
    if (answer != GANG_PLACED) {
        const struct wait_reason now = reason_now(&crew, answer);
        struct wait_reason *reason = pass_reason(pass, &now);
        map_set(pass->failed, shape, reason);
        return reason;
    }
    const struct held held = held_of(spec, crew.places, crew.n_places);
    const struct future_release release = release_of(pass, spec, id, &held);
    if (future_promised(pass->future) && !future_allows(pass->future, &release, 1)) {
        held_give(pass->cluster, &held);
        const struct wait_reason *reason = squeeze_in(pass, i, id);
        if (reason)
            map_set(pass->failed, shape, (void *)(uintptr_t)reason);
        return reason;
    }
    future_admit(pass->future, &release);
    add_admit(pass, i, id, crew.places, crew.n_places);
    return NULL;
}

const struct wait_reason *start_later(struct pass *pass, size_t i, uint64_t id,
                                      const struct wait_reason *reason)
{
    const struct job_spec *spec = job_at(pass, i)->spec;
    const struct future_ask ask = { .job = id, .spec = spec, .lasts_ms = pass_lasts(pass, spec) };
    struct promise promise;
    if (!future_earliest(pass->future, &ask, &promise) || !future_reserve(pass->future, &promise))
        return reason;
    pass->promised_to = pass->promised_to ? pass->promised_to : id;
    struct wait_reason *with = pass_reason(pass, reason);
    with->at_ms = promise.at_ms;
    *pass_later(pass) = (struct plan_entry){ .kind = PLAN_RESERVE,
                                             .job = id,
                                             .at_ms = promise.at_ms,
                                             .by = promise.after_job,
                                             .tasks = promise.places,
                                             .n_tasks = promise.n_places };
    return with;
}
