/* Jobs that start together or not at all: all of them are placed at the turn of the first, and
 * taken off again when one has no place. What each would use of a quota counts for the next. */
#include "sched/gang.h"
#include "sched/pass.h"
#include "sched/reason.h"

#include <stdlib.h>

struct bundle {
    struct pass *pass;
    size_t *jobs; /* by id */
    struct placement *placements;
    struct future_release *placed;
    bool *idle;
    size_t n;
    size_t n_counted, n_placed; /* so far */
};

static uint64_t id_at(const struct bundle *b, size_t k)
{
    return job_at(b->pass, b->jobs[k])->id;
}

/* What the ones before it would use of a limit counts for the next. */
static const struct wait_reason *count(struct bundle *b)
{
    struct pass *pass = b->pass;
    for (size_t k = 0; k < b->n; k++) {
        const struct wait_reason *why = start_over(pass, b->jobs[k], id_at(b, k));
        if (why)
            return why;
        b->idle[k] = start_idle(pass, b->jobs[k]);
        b->n_counted++;
        if (b->idle[k])
            continue;
        const struct quota_request ask = start_ask(pass, b->jobs[k], id_at(b, k));
        quota_charge(pass->quota, ask.queue, ask.user, &ask.demand);
        quota_timeline_runs(pass->quota_timeline, &ask, pass->now_ms + ask.lasts_ms);
    }
    return NULL;
}

static void uncount(struct bundle *b)
{
    while (b->n_counted-- > 0) {
        size_t k = b->n_counted;
        if (b->idle[k])
            continue;
        const struct quota_request ask = start_ask(b->pass, b->jobs[k], id_at(b, k));
        quota_refund(b->pass->quota, ask.queue, ask.user, &ask.demand);
        quota_timeline_forget(b->pass->quota_timeline, 1);
    }
    b->n_counted = 0;
}

static const struct wait_reason *place(struct bundle *b)
{
    struct pass *pass = b->pass;
    for (size_t k = 0; k < b->n; k++) {
        const struct job_spec *spec = job_at(pass, b->jobs[k])->spec;
        placement_init(&b->placements[k], pass->arena, pass->cluster, spec);
        b->placements[k].steps = &pass->steps;
        enum gang_answer answer = gang_place(&b->placements[k]);
        if (answer != GANG_PLACED) {
            struct wait_reason reason = reason_now(&b->placements[k], answer);
            reason.together = (uint32_t)b->n;
            reason.bundle_name = spec->name ? spec->name : "";
            reason.of = id_at(b, k);
            return pass_reason(pass, &reason);
        }
        b->placed[b->n_placed++] =
            (struct future_release){ .at_ms = pass->now_ms + pass_lasts(pass, spec),
                                     .job = id_at(b, k),
                                     .held = held_places_of(spec, b->placements[k].places,
                                                            b->placements[k].n_places) };
    }
    if (future_allows(pass->future, b->placed, b->n))
        return NULL;
    struct wait_reason reason = reason_plain(WAIT_RESERVED);
    reason.blocker = pass->promised_to;
    return pass_reason(pass, &reason);
}

static void start(struct bundle *b)
{
    struct pass *pass = b->pass;
    for (size_t k = 0; k < b->n; k++) {
        pass_admit(pass, &b->placed[k]);
        *pass_entry(pass) = (struct plan_entry){ .kind = PLAN_ADMIT,
                                                 .job = id_at(b, k),
                                                 .tasks = b->placements[k].places,
                                                 .n_tasks = b->placements[k].n_places,
                                                 .right = pass->right,
                                                 .idle = b->idle[k] };
        pass->started[b->jobs[k]] = 1;
    }
}

/* Together more than a queue or a user may ever have. */
static bool hopeless(const struct bundle *b)
{
    const struct sched_snapshot *s = b->pass->snapshot;
    struct quota *empty = quota_create(b->pass->arena, s->queues, s->n_queues);
    for (size_t k = 0; k < b->n; k++) {
        const struct quota_request ask = start_ask(b->pass, b->jobs[k], id_at(b, k));
        enum quota_answer answer = quota_ask(empty, ask.queue, ask.user, &ask.demand).answer;
        bool over = answer == QUOTA_MOST || answer == QUOTA_USER;
        enum capacity_class capacity = job_at(b->pass, b->jobs[k])->spec->capacity;
        if (over && capacity == CAPACITY_GUARANTEED)
            return true;
        if (!over && capacity != CAPACITY_IDLE)
            quota_charge(empty, ask.queue, ask.user, &ask.demand);
    }
    return false;
}

static void wait_together(struct bundle *b, const struct rank *rank, const struct wait_reason *why)
{
    struct pass *pass = b->pass;
    while (b->n_placed > 0)
        held_places_give(pass->cluster, &b->placed[--b->n_placed].held);
    uncount(b);
    for (size_t k = 0; k < b->n; k++) {
        pass->started[b->jobs[k]] = 1; /* its turn is over */
        pass_wait(pass, id_at(b, k), why, pass->in_line++);
    }
    if (hopeless(b))
        return; /* in nobody's way */
    order_blocked(pass->order, b->jobs[0], rank);
    pass->blocked++;
}

static int by_id(const void *a, const void *b)
{
    const struct sched_job *x = *(const struct sched_job *const *)a;
    const struct sched_job *y = *(const struct sched_job *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static void gather(struct bundle *b, uint64_t bundle)
{
    const struct sched_snapshot *s = b->pass->snapshot;
    struct arena *arena = b->pass->arena;
    const struct sched_job **all = ARENA_ARRAY(arena, s->n_jobs, const struct sched_job *);
    for (size_t i = 0; i < s->n_jobs; i++)
        if (s->jobs[i].bundle == bundle && !pass_aside(b->pass, i))
            all[b->n++] = &s->jobs[i];
    qsort(all, b->n, sizeof *all, by_id);
    b->jobs = ARENA_ARRAY(arena, b->n, size_t);
    for (size_t k = 0; k < b->n; k++)
        b->jobs[k] = (size_t)(all[k] - s->jobs);
    b->placements = ARENA_ARRAY(arena, b->n, struct placement);
    b->placed = ARENA_ARRAY(arena, b->n, struct future_release);
    b->idle = ARENA_ARRAY(arena, b->n, bool);
}

void bundle_turn(struct pass *pass, size_t at, const struct rank *rank)
{
    const struct sched_job *first = job_at(pass, at);
    struct bundle b = { .pass = pass };
    if (pass->started[at] > 0)
        return; /* it started or waits with another one of its bundle */
    gather(&b, first->bundle);
    bool turn = b.n == first->bundle_size && pass->blocked < pass->depth;
    for (size_t k = 0; k < b.n && turn; k++)
        turn = !order_closed(pass->order, b.jobs[k]);
    const struct wait_reason *why = turn ? count(&b) : &pass->ahead;
    if (!why)
        why = place(&b);
    if (why)
        wait_together(&b, rank, why);
    else
        start(&b);
}
