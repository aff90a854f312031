/* Between the start times of reservations usage can only fall, so it is enough to check a limit at
 * the job's start and at each such time within its run time. The usage at those times is kept
 * summed up. */
#include "sched/quota_timeline.h"

#include "sched/time_points.h"

#include <string.h>

struct run {
    uint32_t queue, user;
    struct vector amounts;
    uint64_t to_ms;
};
struct quota_reservation {
    struct run run;
    uint64_t job, from_ms;
    struct vector *used; /* of each queue at from_ms, with this and others that are kept then */
    struct vector user;  /* the same of its user */
};
struct quota_timeline {
    struct arena *arena;
    const struct queue_spec *queues;
    size_t n_queues;
    uint64_t now_ms;
    struct run *runs; /* in the order they came */
    size_t n, cap;
    struct vector *used;     /* of each queue, with those below, by all runs */
    struct time_point *ends; /* of the runs, while they are sorted */
    size_t cap_ends;
    bool sorted;
    bool limited; /* a queue has a limit: without one nothing is looked at */
    struct quota_reservation reservations[QUOTA_RESERVATIONS_MAX];
    size_t n_reservations;
};

static bool has_limit(const struct queue_spec *q)
{
    const struct vector any = VECTOR_ANY;
    return memcmp(&q->most, &any, sizeof any) != 0 || memcmp(&q->user_most, &any, sizeof any) != 0;
}

struct quota_timeline *quota_timeline_create(struct arena *arena, const struct queue_spec *queues,
                                             size_t n, uint64_t now_ms)
{
    struct quota_timeline *h = ARENA_NEW(arena, struct quota_timeline);
    h->arena = arena;
    h->queues = queues;
    h->n_queues = n;
    h->now_ms = now_ms;
    h->used = ARENA_ARRAY(arena, n, struct vector);
    for (size_t i = 0; i < n; i++)
        h->limited = h->limited || has_limit(&queues[i]);
    return h;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint32_t above(const struct quota_timeline *h, uint32_t queue)
{
    return h->queues[queue].parent;
}

/* ---- use at the beginnings ---- */

static void add_to(const struct quota_timeline *h, struct quota_reservation *at,
                   const struct run *r)
{
    for (uint32_t q = r->queue; q < h->n_queues; q = above(h, q))
        vector_add(&at->used[q], &r->amounts);
    if (r->user == at->run.user)
        vector_add(&at->user, &r->amounts);
}

static void take_from(const struct quota_timeline *h, struct quota_reservation *at,
                      const struct run *r)
{
    for (uint32_t q = r->queue; q < h->n_queues; q = above(h, q))
        vector_take(&at->used[q], &r->amounts);
    if (r->user == at->run.user)
        vector_take(&at->user, &r->amounts);
}

static struct run run_of(const struct quota_request *ask, uint64_t to_ms)
{
    return (struct run){
        .queue = ask->queue, .user = ask->user, .amounts = ask->demand, .to_ms = to_ms
    };
}

void quota_timeline_runs(struct quota_timeline *h, const struct quota_request *ask,
                         uint64_t ends_ms)
{
    if (!h->limited)
        return;
    if (h->n == h->cap) {
        h->cap = h->cap ? 2 * h->cap : 64;
        struct run *wider = ARENA_ARRAY(h->arena, h->cap, struct run);
        if (h->n)
            memcpy(wider, h->runs, h->n * sizeof *wider);
        h->runs = wider;
    }
    struct run *r = &h->runs[h->n++];
    *r = run_of(ask, ends_ms > h->now_ms ? ends_ms : h->now_ms + 1);
    h->sorted = false;
    for (uint32_t q = r->queue; q < h->n_queues; q = above(h, q))
        vector_add(&h->used[q], &r->amounts);
    for (size_t i = 0; i < h->n_reservations; i++)
        if (h->reservations[i].from_ms < r->to_ms)
            add_to(h, &h->reservations[i], r);
}

void quota_timeline_forget(struct quota_timeline *h, size_t n)
{
    while (h->limited && n-- > 0) {
        const struct run *r = &h->runs[--h->n];
        h->sorted = false;
        for (uint32_t q = r->queue; q < h->n_queues; q = above(h, q))
            vector_take(&h->used[q], &r->amounts);
        for (size_t i = 0; i < h->n_reservations; i++)
            if (h->reservations[i].from_ms < r->to_ms)
                take_from(h, &h->reservations[i], r);
    }
}

/* ---- asking ---- */

static bool more_than(const struct vector *used, const struct vector *demand,
                      const struct vector *most)
{
    struct vector with = *used;
    vector_add(&with, demand);
    return vector_over(&with, most) != NULL;
}

static bool is_above(const struct quota_timeline *h, uint32_t high, uint32_t low)
{
    while (low < h->n_queues && low != high)
        low = above(h, low);
    return low == high;
}

/* Would the hold lack something when the job runs at its beginning? */
static bool lacks(const struct quota_timeline *h, const struct quota_reservation *hold,
                  const struct quota_request *ask)
{
    if (ask->queue >= h->n_queues)
        return false;
    if (ask->user == hold->run.user &&
        more_than(&hold->user, &ask->demand, &h->queues[ask->queue].user_most))
        return true;
    for (uint32_t q = ask->queue; q < h->n_queues; q = above(h, q))
        if (is_above(h, q, hold->run.queue) &&
            more_than(&hold->used[q], &ask->demand, &h->queues[q].most))
            return true;
    return false;
}

uint64_t quota_timeline_blocker(const struct quota_timeline *h, const struct quota_request *ask)
{
    uint64_t until = sum_of(h->now_ms, ask->lasts_ms);
    for (size_t i = 0; i < h->n_reservations; i++)
        if (h->reservations[i].from_ms < until && lacks(h, &h->reservations[i], ask))
            return h->reservations[i].job;
    return 0;
}

struct instant { /* what is used then, as the asking job sees it */
    uint64_t at_ms;
    struct quota_reservation now; /* of its user and its queues */
    size_t next;                  /* of the ends */
};

static bool fits_at(const struct quota_timeline *h, const struct instant *m,
                    const struct quota_request *ask)
{
    uint64_t until = sum_of(m->at_ms, ask->lasts_ms);
    if (lacks(h, &m->now, ask))
        return false;
    for (size_t i = 0; i < h->n_reservations; i++) {
        const struct quota_reservation *k = &h->reservations[i];
        if (k->from_ms > m->at_ms && k->from_ms < until && lacks(h, k, ask))
            return false;
    }
    return true;
}

static uint64_t next_change(const struct quota_timeline *h, const struct instant *m,
                            const struct time_point *ends)
{
    uint64_t next = m->next < h->n ? ends[m->next].at_ms : QUOTA_NEVER;
    for (size_t i = 0; i < h->n_reservations; i++) {
        const struct quota_reservation *k = &h->reservations[i];
        if (k->from_ms > m->at_ms && k->from_ms < next)
            next = k->from_ms;
        if (k->run.to_ms > m->at_ms && k->run.to_ms < next)
            next = k->run.to_ms;
    }
    return next;
}

static void go_to(const struct quota_timeline *h, struct instant *m, const struct time_point *ends,
                  uint64_t at_ms)
{
    for (; m->next < h->n && ends[m->next].at_ms <= at_ms; m->next++)
        take_from(h, &m->now, ends[m->next].what);
    for (size_t i = 0; i < h->n_reservations; i++) {
        const struct quota_reservation *k = &h->reservations[i];
        bool was = k->from_ms <= m->at_ms && m->at_ms < k->run.to_ms;
        bool is = k->from_ms <= at_ms && at_ms < k->run.to_ms;
        if (is && !was)
            add_to(h, &m->now, &k->run);
        else if (was && !is)
            take_from(h, &m->now, &k->run);
    }
    m->at_ms = at_ms;
}

/* Sorted once for all who ask until the next one starts. */
static const struct time_point *ends_of(struct quota_timeline *h)
{
    if (h->sorted)
        return h->ends;
    if (h->cap_ends < h->cap) {
        h->cap_ends = h->cap;
        h->ends = ARENA_ARRAY(h->arena, 2 * h->cap, struct time_point);
    }
    for (size_t i = 0; i < h->n; i++)
        h->ends[i] = (struct time_point){ .at_ms = h->runs[i].to_ms, .what = &h->runs[i] };
    if (h->n)
        time_points_sort(h->ends, h->ends + h->n, h->n);
    h->sorted = true;
    return h->ends;
}

static struct vector used_by(const struct quota_timeline *h, uint32_t user)
{
    struct vector sum = { 0 };
    for (size_t i = 0; i < h->n; i++)
        if (h->runs[i].user == user)
            vector_add(&sum, &h->runs[i].amounts);
    return sum;
}

uint64_t quota_timeline_earliest(struct quota_timeline *h, const struct quota_request *ask,
                                 uint64_t from_ms)
{
    if (!h->limited)
        return from_ms;
    struct arena *scratch = arena_create();
    const struct time_point *ends = ends_of(h);
    struct instant m = { .now = { .run = run_of(ask, 0), .user = used_by(h, ask->user) } };
    m.now.used = ARENA_ARRAY(scratch, h->n_queues, struct vector);
    memcpy(m.now.used, h->used, h->n_queues * sizeof *h->used);
    go_to(h, &m, ends, from_ms);
    while (m.at_ms != QUOTA_NEVER && !fits_at(h, &m, ask))
        go_to(h, &m, ends, next_change(h, &m, ends));
    arena_destroy(scratch);
    return m.at_ms;
}

/* Everything of the queues at a moment, seen by whoever begins there. */
static void sum_up(const struct quota_timeline *h, struct quota_reservation *at)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->runs[i].to_ms > at->from_ms)
            add_to(h, at, &h->runs[i]);
    for (size_t i = 0; i < h->n_reservations; i++) {
        const struct quota_reservation *k = &h->reservations[i];
        if (k->from_ms <= at->from_ms && at->from_ms < k->run.to_ms)
            add_to(h, at, &k->run);
    }
}

void quota_timeline_keep(struct quota_timeline *h, const struct quota_request *ask, uint64_t at_ms)
{
    if (!h->limited || h->n_reservations == QUOTA_RESERVATIONS_MAX || ask->queue >= h->n_queues)
        return;
    struct quota_reservation *one = &h->reservations[h->n_reservations];
    *one = (struct quota_reservation){ .run = run_of(ask, sum_of(at_ms, ask->lasts_ms)),
                                       .job = ask->job,
                                       .from_ms = at_ms };
    one->used = ARENA_ARRAY(h->arena, h->n_queues, struct vector);
    sum_up(h, one);
    add_to(h, one, &one->run);
    for (size_t i = 0; i < h->n_reservations; i++) {
        struct quota_reservation *k = &h->reservations[i];
        if (k->from_ms > at_ms && k->from_ms < one->run.to_ms)
            add_to(h, k, &one->run);
    }
    h->n_reservations++;
}
