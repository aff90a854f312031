/* Counting what queues and users have in use, up the tree, and checking demands against it. Users
 * are positions in the snapshot; the arena of the pass owns everything. */
#include "sched/quota.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { CPU, MEMORY, GPU, AMOUNTS };
static const char *const amount_names[AMOUNTS] = { "cpu", "memory", "gpu" };

static uint64_t amount(const struct vector *v, int i)
{
    return i == CPU ? v->cpu_milli : i == MEMORY ? v->memory : v->gpu_milli;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* ---- vectors ---- */

struct vector vector_of_role(const struct role *role, uint32_t tasks)
{
    const struct resources *r = &role->resources;
    return (struct vector){ .cpu_milli = times(r->cpu_milli, tasks),
                            .memory = times(r->memory, tasks),
                            .gpu_milli = times(r->gpu_milli, tasks) };
}

struct vector vector_of_job(const struct job_spec *job)
{
    struct vector all = { 0 };
    for (size_t i = 0; i < job->n_roles; i++) {
        struct vector one = vector_of_role(&job->roles[i], job->roles[i].replicas);
        vector_add(&all, &one);
    }
    return all;
}

void vector_add(struct vector *to, const struct vector *v)
{
    to->cpu_milli = plus(to->cpu_milli, v->cpu_milli);
    to->memory = plus(to->memory, v->memory);
    to->gpu_milli = plus(to->gpu_milli, v->gpu_milli);
}

void vector_take(struct vector *from, const struct vector *v)
{
    from->cpu_milli = minus(from->cpu_milli, v->cpu_milli);
    from->memory = minus(from->memory, v->memory);
    from->gpu_milli = minus(from->gpu_milli, v->gpu_milli);
}

static void lower(uint64_t *to, uint64_t than)
{
    *to = *to < than ? *to : than;
}

void vector_least(struct vector *to, const struct vector *v)
{
    lower(&to->cpu_milli, v->cpu_milli);
    lower(&to->memory, v->memory);
    lower(&to->gpu_milli, v->gpu_milli);
}

static int over(const struct vector *v, const struct vector *most)
{
    for (int i = AMOUNTS - 1; i >= 0; i--) /* gpu is what is most often short */
        if (amount(v, i) > amount(most, i))
            return i;
    return -1;
}

const char *vector_over(const struct vector *v, const struct vector *most)
{
    int i = over(v, most);
    return i < 0 ? NULL : amount_names[i];
}

uint64_t vector_share(const struct vector *v, const struct vector *total)
{
    uint64_t most = 0;
    for (int i = 0; i < AMOUNTS; i++) {
        uint64_t all = amount(total, i);
        if (all == 0)
            continue;
        uint64_t share = (uint64_t)((wide)amount(v, i) * 1000000u / all);
        most = share > most ? share : most;
    }
    return most;
}

/* ---- strategies ---- */

#define STRATEGY_WORD(id, word) word,
static const char *const strategy_words[] = { QUEUE_STRATEGIES(STRATEGY_WORD) };
#undef STRATEGY_WORD

const char *queue_strategy_word(enum queue_strategy s)
{
    return strategy_words[s < QUEUE_STRATEGY_N ? s : QUEUE_BACKFILL];
}

bool queue_strategy_parse(const char *word, enum queue_strategy *out)
{
    for (size_t i = 0; i < ARRAY_LEN(strategy_words); i++)
        if (strcmp(word, strategy_words[i]) == 0) {
            *out = (enum queue_strategy)i;
            return true;
        }
    return false;
}

/* ---- is the tree possible ---- */

static bool fits(const struct vector *v, const struct vector *most, const char *what,
                 const char *whose, char text[300])
{
    int i = over(v, most);
    if (i < 0)
        return true;
    const char *unit = i == MEMORY ? "bytes" : "thousandths";
    snprintf(text, 300, "%s of %s: %" PRIu64 " %s, and there are %" PRIu64, amount_names[i], what,
             amount(v, i), unit, amount(most, i));
    size_t n = strlen(text);
    snprintf(text + n, 300 - n, " in %s", whose);
    return false;
}

static bool children_fit(const struct queue_spec *q, size_t n, uint32_t parent,
                         const struct vector *within, char text[300])
{
    struct vector sum = { 0 };
    char what[160], whose[120] = "the cluster";
    for (size_t i = 0; i < n; i++)
        if (q[i].parent == parent)
            vector_add(&sum, &q[i].sure);
    snprintf(what, sizeof what, "what the queues %s%.60s are sure of together",
             parent == QUEUE_ROOT ? "of the cluster" : "below ",
             parent == QUEUE_ROOT ? "" : q[parent].name);
    if (parent != QUEUE_ROOT)
        snprintf(whose, sizeof whose, "queue \"%.80s\"", q[parent].name);
    return fits(&sum, within, what, whose, text);
}

bool quota_check(const struct queue_spec *q, size_t n, const struct vector *total, char text[300])
{
    const struct vector none = { 0 };
    char what[160], whose[120];
    for (size_t i = 0; i < n; i++) {
        if (q[i].parent != QUEUE_ROOT && q[i].parent >= i) {
            snprintf(text, 300, "queue \"%.80s\" is below itself or below one that comes later",
                     q[i].name);
            return false;
        }
        snprintf(what, sizeof what, "what queue \"%.60s\" is sure of", q[i].name);
        snprintf(whose, sizeof whose, "the most it may have");
        if (!fits(&q[i].sure, &q[i].most, what, whose, text))
            return false;
        bool bounded = vector_over(&q[i].sure, &none) != NULL;
        if (!children_fit(q, n, (uint32_t)i, bounded ? &q[i].sure : &q[i].most, text))
            return false;
    }
    return !total || children_fit(q, n, QUEUE_ROOT, total, text);
}

/* ---- what is used ---- */

struct quota {
    uint64_t version;
    const struct queue_spec *queues;
    size_t n;
    struct vector *used; /* with everything below */
    struct arena *arena;
    struct vector *users; /* by position in the snapshot; as far as any was charged */
    size_t n_users;
};

struct quota *quota_create(struct arena *arena, const struct queue_spec *queues, size_t n)
{
    struct quota *q = ARENA_NEW(arena, struct quota);
    *q = (struct quota){ .queues = queues, .n = n, .arena = arena };
    q->used = ARENA_ARRAY(arena, n, struct vector);
    return q;
}

static struct vector *user_of(struct quota *q, uint32_t user)
{
    if (user >= q->n_users) {
        size_t n = q->n_users ? 2 * q->n_users : 16;
        while (n <= user)
            n *= 2;
        struct vector *wider = ARENA_ARRAY(q->arena, n, struct vector);
        if (q->n_users)
            memcpy(wider, q->users, q->n_users * sizeof *wider);
        q->users = wider;
        q->n_users = n;
    }
    return &q->users[user];
}

/* The queue and those above it, one after the other; QUEUE_ROOT at the end. */
static uint32_t above(const struct quota *q, uint32_t queue)
{
    return queue < q->n ? q->queues[queue].parent : QUEUE_ROOT;
}

void quota_charge(struct quota *q, uint32_t queue, uint32_t user, const struct vector *v)
{
    q->version++;
    vector_add(user_of(q, user), v);
    for (uint32_t at = queue; at < q->n; at = above(q, at))
        vector_add(&q->used[at], v);
}

void quota_refund(struct quota *q, uint32_t queue, uint32_t user, const struct vector *v)
{
    q->version++;
    vector_take(user_of(q, user), v);
    for (uint32_t at = queue; at < q->n; at = above(q, at))
        vector_take(&q->used[at], v);
}

uint64_t quota_version(const struct quota *q)
{
    return q->version;
}

const struct vector *quota_used(const struct quota *q, uint32_t queue)
{
    return &q->used[queue];
}

const struct vector *quota_user(const struct quota *q, uint32_t user)
{
    static const struct vector none = { 0 };
    return user < q->n_users ? &q->users[user] : &none;
}

/* Does the queue cover the demand beside what is used? */
static bool covers(const struct queue_spec *queue, const struct vector *used,
                   const struct vector *demand)
{
    bool some = false;
    for (int i = 0; i < AMOUNTS; i++) {
        uint64_t sure = amount(&queue->sure, i);
        if (sure && plus(amount(used, i), amount(demand, i)) > sure)
            return false;
        some = some || (sure && amount(demand, i));
    }
    return some;
}

static bool looks_over(struct quota_check *look, enum quota_answer answer,
                       const struct vector *used, const struct vector *demand,
                       const struct vector *most)
{
    struct vector with = *used;
    vector_add(&with, demand);
    int i = over(&with, most);
    if (i < 0)
        return false;
    look->answer = answer;
    look->resource = amount_names[i];
    look->used = amount(used, i);
    look->most = amount(most, i);
    return true;
}

struct quota_check quota_ask(const struct quota *q, uint32_t queue, uint32_t user,
                             const struct vector *demand)
{
    struct quota_check look = { .answer = QUOTA_BORROWED, .queue = queue };
    if (queue < q->n &&
        looks_over(&look, QUOTA_USER, quota_user(q, user), demand, &q->queues[queue].user_most))
        return look;
    for (uint32_t at = queue; at < q->n; at = above(q, at)) {
        look.queue = at;
        if (looks_over(&look, QUOTA_MOST, &q->used[at], demand, &q->queues[at].most))
            return look;
    }
    for (uint32_t at = queue; at < q->n; at = above(q, at))
        if (covers(&q->queues[at], &q->used[at], demand))
            look.answer = QUOTA_SURE;
    look.queue = queue;
    return look;
}

bool quota_allows(const struct quota *q, uint32_t queue, const struct vector *demand)
{
    if (queue < q->n && over(demand, &q->queues[queue].user_most) >= 0)
        return false;
    for (uint32_t at = queue; at < q->n; at = above(q, at))
        if (over(demand, &q->queues[at].most) >= 0)
            return false;
    return true;
}

static bool is_above(const struct quota *q, uint32_t high, uint32_t low)
{
    while (low < q->n && low != high)
        low = above(q, low);
    return low == high;
}

bool quota_may_reclaim(const struct quota *q, const struct quota_claim *claimant,
                       const struct quota_claim *lender)
{
    bool covered = false;
    for (uint32_t at = claimant->queue; at < q->n && !is_above(q, at, lender->queue);
         at = above(q, at)) {
        if (q->queues[at].keeps)
            return false;
        covered = covered || covers(&q->queues[at], &q->used[at], &claimant->demand);
    }
    if (!covered)
        return false;
    for (uint32_t at = lender->queue; at < q->n && !is_above(q, at, claimant->queue);
         at = above(q, at)) {
        struct vector without = q->used[at];
        vector_take(&without, &lender->demand);
        if (covers(&q->queues[at], &without, &lender->demand))
            return false;
    }
    return true;
}

static uint64_t load_of(const struct queue_spec *queue, const struct vector *used,
                        const struct vector *total)
{
    uint64_t most = 0, weight = queue->weight ? queue->weight : 1;
    for (int i = 0; i < AMOUNTS; i++) {
        uint64_t due = plus(amount(&queue->sure, i), times(amount(total, i), weight) / 100);
        if (due == 0)
            continue;
        uint64_t load = (uint64_t)((wide)amount(used, i) * 1000u / due);
        most = load > most ? load : most;
    }
    return most;
}

uint64_t quota_load(const struct quota *q, uint32_t queue, const struct vector *total)
{
    uint64_t most = 0;
    for (uint32_t at = queue; at < q->n; at = above(q, at)) {
        uint64_t load = load_of(&q->queues[at], &q->used[at], total);
        most = load > most ? load : most;
    }
    return most;
}
