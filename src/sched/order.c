/* A heap of the waiting jobs. Ranks only get worse while a pass lets jobs start (queues and users
 * come to have more), so a job whose rank is out of date goes back once and the next is looked at.
 */
#include "sched/order.h"

#include "base/mem.h"

#include <string.h>

#define PRIORITY_FIFO   7u /* of an intelligent queue: from here on nobody passes */
#define PRIORITY_RAISED 6u

struct entry {
    size_t job;
    uint64_t id;
    struct rank rank;
    uint64_t version; /* of the quota: the rank is right as long as that is */
};
struct queue_progress { /* of one queue */
    uint32_t blocked, passed;
    uint32_t may_pass;           /* UINT32_MAX: everybody */
    bool told[LACKS_USER_SHARE]; /* what it lacks: somebody was told a time */
};

struct order {
    const struct sched_snapshot *s;
    const struct quota *quota;
    struct vector total;
    uint64_t now_ms;
    struct entry *heap;
    size_t n;
    uint64_t *ids;          /* per job: who stands for it now */
    struct vector *demands; /* per job */
    struct queue_progress *lanes;
    bool *told; /* per user */
};

static uint64_t waited(uint64_t id, uint64_t now_ms)
{
    uint64_t since = id >> 20;
    return now_ms > since ? now_ms - since : 0;
}

static enum queue_strategy strategy_of(const struct sched_snapshot *s, uint32_t queue)
{
    return queue < s->n_queues ? s->queues[queue].strategy : QUEUE_BACKFILL;
}

static uint32_t priority_of(const struct sched_snapshot *s, const struct sched_job *job,
                            uint64_t id, uint64_t now_ms)
{
    uint32_t p = job->spec->priority;
    if (strategy_of(s, job->queue) != QUEUE_INTELLIGENT || p >= PRIORITY_RAISED)
        return p;
    uint64_t raised = p + waited(id, now_ms) / QUOTA_STEP_MS;
    return raised < PRIORITY_RAISED ? (uint32_t)raised : PRIORITY_RAISED;
}

static struct rank rank_with(const struct order *o, size_t position, uint64_t id,
                             const struct vector *demand)
{
    const struct sched_job *job = &o->s->jobs[position];
    const struct quota_check look = quota_ask(o->quota, job->queue, job->user, demand);
    enum queue_strategy strategy = strategy_of(o->s, job->queue);
    bool over = look.answer == QUOTA_MOST || look.answer == QUOTA_USER;
    bool idle = job->spec->capacity == CAPACITY_ANY ? over : job->spec->capacity == CAPACITY_IDLE;
    bool first = id == job->id; /* what it was told and what it claims is not for those behind it */
    struct rank r = { .claims = first && job->claims,
                      .sure = look.answer == QUOTA_SURE && !idle,
                      .idle = idle,
                      .priority = priority_of(o->s, job, id, o->now_ms),
                      .promised_ms = first && job->promised_ms ? job->promised_ms : UINT64_MAX,
                      .load = quota_load(o->quota, job->queue, &o->total),
                      .id = id };
    if (job->user < o->s->n_users && strategy == QUEUE_BACKFILL)
        r.usage =
            o->s->users[job->user].usage + vector_share(quota_user(o->quota, job->user), &o->total);
    return r;
}

struct rank rank_of(const struct sched_snapshot *s, const struct quota *quota, size_t job,
                    const struct vector *total, uint64_t now_ms)
{
    const struct order o = { .s = s, .quota = quota, .total = *total, .now_ms = now_ms };
    const struct vector demand = vector_of_job(s->jobs[job].spec);
    return rank_with(&o, job, s->jobs[job].id, &demand);
}

struct rank order_rank(const struct order *o, size_t job, uint64_t id)
{
    return rank_with(o, job, id, &o->demands[job]);
}

void order_renew(struct order *o, size_t job)
{
    o->demands[job] = vector_of_job(o->s->jobs[job].spec);
}

const struct vector *order_demand(const struct order *o, size_t job)
{
    return &o->demands[job];
}

static struct entry entry_of(const struct order *o, size_t job, uint64_t id)
{
    return (struct entry){
        .job = job, .id = id, .rank = order_rank(o, job, id), .version = quota_version(o->quota)
    };
}

/* <0: x comes first. */
static int compare(const struct rank *x, const struct rank *y)
{
    if (x->claims != y->claims)
        return x->claims ? -1 : 1;
    if (x->sure != y->sure)
        return x->sure ? -1 : 1;
    if (x->idle != y->idle)
        return y->idle ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->promised_ms != y->promised_ms)
        return x->promised_ms < y->promised_ms ? -1 : 1;
    if (x->load != y->load)
        return x->load < y->load ? -1 : 1;
    if (x->usage != y->usage)
        return x->usage < y->usage ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

uint32_t rank_right(const struct rank *r)
{
    return (uint32_t)r->claims << 6 | (uint32_t)r->sure << 5 | (uint32_t)!r->idle << 4 |
           (r->priority & 15);
}

bool rank_before(const struct rank *x, const struct rank *y)
{
    return compare(x, y) < 0;
}

/* Ties go to the earlier position, so that the order is one. */
static bool before(const struct entry *a, const struct entry *b)
{
    int order = compare(&a->rank, &b->rank);
    return order ? order < 0 : a->job < b->job;
}

/* ---- the heap ---- */

static void sink(struct order *o, size_t at)
{
    for (;;) {
        size_t least = at, left = 2 * at + 1;
        for (size_t child = left; child < left + 2 && child < o->n; child++)
            if (before(&o->heap[child], &o->heap[least]))
                least = child;
        if (least == at)
            return;
        struct entry moved = o->heap[at];
        o->heap[at] = o->heap[least];
        o->heap[least] = moved;
        at = least;
    }
}

static void rise(struct order *o, size_t at)
{
    while (at > 0 && before(&o->heap[at], &o->heap[(at - 1) / 2])) {
        struct entry moved = o->heap[at];
        o->heap[at] = o->heap[(at - 1) / 2];
        o->heap[(at - 1) / 2] = moved;
        at = (at - 1) / 2;
    }
}

static void push(struct order *o, struct entry entry)
{
    o->heap[o->n++] = entry;
    rise(o, o->n - 1);
}

static struct entry pop(struct order *o)
{
    struct entry first = o->heap[0];
    o->heap[0] = o->heap[--o->n];
    sink(o, 0);
    return first;
}

struct order *order_create(struct arena *arena, const struct sched_snapshot *s, struct quota *quota,
                           const struct vector *total, uint64_t now_ms)
{
    struct order *o = ARENA_NEW(arena, struct order);
    *o = (struct order){ .s = s, .quota = quota, .total = *total, .now_ms = now_ms };
    o->heap = ARENA_ARRAY(arena, s->n_jobs, struct entry);
    o->ids = ARENA_ARRAY(arena, s->n_jobs, uint64_t);
    o->demands = ARENA_ARRAY(arena, s->n_jobs, struct vector);
    o->lanes = ARENA_ARRAY(arena, s->n_queues + 1, struct queue_progress);
    o->told = ARENA_ARRAY(arena, s->n_users + 1, bool);
    for (size_t i = 0; i < s->n_queues; i++)
        o->lanes[i].may_pass = UINT32_MAX;
    o->lanes[s->n_queues].may_pass = UINT32_MAX;
    for (size_t i = 0; i < s->n_jobs; i++) {
        o->ids[i] = s->jobs[i].id;
        if (s->jobs[i].spec)
            order_renew(o, i);
        if (!s->jobs[i].blocked_after && s->jobs[i].not_before_ms <= now_ms)
            o->heap[o->n++] = entry_of(o, i, o->ids[i]);
    }
    for (size_t i = o->n / 2; i-- > 0;)
        sink(o, i);
    return o;
}

bool order_next(struct order *o, size_t *job, struct rank *rank)
{
    while (o->n > 0) {
        struct entry first = pop(o);
        struct entry now = first;
        if (first.version != quota_version(o->quota))
            now = entry_of(o, first.job, first.id);
        if (o->n > 0 && before(&first, &now) && before(&o->heap[0], &now)) {
            push(o, now);
            continue;
        }
        *job = first.job;
        *rank = now.rank;
        return true;
    }
    return false;
}

void order_again(struct order *o, size_t job, uint64_t id)
{
    o->ids[job] = id;
    push(o, entry_of(o, job, id));
}

/* ---- strategies ---- */

static struct queue_progress *lane_of(const struct order *o, size_t job)
{
    uint32_t queue = o->s->jobs[job].queue;
    return &o->lanes[queue < o->s->n_queues ? queue : o->s->n_queues];
}

void order_blocked(struct order *o, size_t job, const struct rank *rank)
{
    const struct sched_job *one = &o->s->jobs[job];
    struct queue_progress *lane = lane_of(o, job);
    switch (strategy_of(o->s, one->queue)) {
    case QUEUE_FIFO: lane->may_pass = 0; break;
    case QUEUE_BALANCE:
        if (lane->blocked == 0) {
            uint64_t steps = waited(rank->id, o->now_ms) / QUOTA_STEP_MS;
            lane->may_pass = steps < UINT32_MAX - 1 ? (uint32_t)steps : UINT32_MAX - 1;
        }
        break;
    case QUEUE_INTELLIGENT:
        if (rank->priority >= PRIORITY_FIFO)
            lane->may_pass = 0;
        break;
    default: break;
    }
    lane->passed += lane->blocked > 0;
    lane->blocked++;
}

bool order_closed(const struct order *o, size_t job)
{
    const struct queue_progress *lane = lane_of(o, job);
    return lane->blocked > 0 && lane->may_pass != UINT32_MAX && lane->passed >= lane->may_pass;
}

static bool *told(const struct order *o, size_t job, enum order_lack lack)
{
    uint32_t user = o->s->jobs[job].user;
    if (lack == LACKS_USER_SHARE)
        return &o->told[user < o->s->n_users ? user : o->s->n_users];
    return &lane_of(o, job)->told[lack];
}

bool order_first_blocked(const struct order *o, size_t job, const struct rank *rank,
                         enum order_lack lack)
{
    enum queue_strategy strategy = strategy_of(o->s, o->s->jobs[job].queue);
    bool passed = strategy == QUEUE_ROUND_ROBIN ||
                  (strategy == QUEUE_INTELLIGENT && rank->priority < PRIORITY_FIFO);
    return !passed && !*told(o, job, lack);
}

void order_told(struct order *o, size_t job, enum order_lack lack)
{
    *told(o, job, lack) = true;
}
