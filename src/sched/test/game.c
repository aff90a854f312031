/* Random yards: queues, users, nodes and jobs drawn from a seed, played until all jobs have ended
 * or those that are left can never start. */
#include "sched/test/game.h"

#include "sched/test/digest.h"
#include "sched/test/yard.h"

#include "base/dice.h"
#include "base/mem.h"

#include <stddef.h>

enum kind { CALM, LIMITS, SHARES, STRATEGIES, KINDS };
struct game {
    struct dice dice;
    struct yard *yard;
    enum kind kind;
    uint32_t gpus, total;
};

static bool one_in(struct game *g, uint32_t n)
{
    return dice_below(&g->dice, n) == 0;
}

/* ---- who may have what ---- */

static void random_limits(struct game *g, struct queue_spec *q)
{
    if (one_in(g, 2))
        q->most.gpu_milli = 1000 * (1 + (uint64_t)dice_below(&g->dice, g->total));
    if (q->most.gpu_milli < q->sure.gpu_milli)
        q->most.gpu_milli = q->sure.gpu_milli;
    if (one_in(g, 3))
        q->user_most.gpu_milli = 1000 * (1 + (uint64_t)dice_below(&g->dice, g->total));
}

/* What is sure is given out from the root down, so that the tree makes sense. */
static void random_shares(struct game *g)
{
    struct yard *y = g->yard;
    uint64_t left[YARD_QUEUES], root = g->total;
    uint32_t n = 2 + dice_below(&g->dice, 4);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = i && one_in(g, 2) ? dice_below(&g->dice, i) : QUEUE_ROOT;
        uint64_t *from = parent == QUEUE_ROOT ? &root : &left[parent];
        uint32_t sure = one_in(g, 3) ? 0 : dice_below(&g->dice, (uint32_t)*from + 1);
        enum queue_strategy s = one_in(g, 3)
                                    ? (enum queue_strategy)dice_below(&g->dice, QUEUE_STRATEGY_N)
                                    : QUEUE_BACKFILL;
        uint32_t at = yard_queue(y, s, parent, sure, UINT32_MAX);
        *from -= sure;
        left[at] = sure;
        y->queues[at].weight = dice_below(&g->dice, 3);
        y->queues[at].keeps = one_in(g, 6);
        random_limits(g, &y->queues[at]);
        if (parent != QUEUE_ROOT && left[parent] + sure > y->queues[parent].most.gpu_milli)
            y->queues[parent].most = VECTOR_ANY;
    }
    for (uint32_t i = 0; i < YARD_USERS; i++)
        y->users[i].queue = i % n;
}

static void random_queues(struct game *g)
{
    struct yard *y = g->yard;
    switch (g->kind) {
    case CALM:
        yard_queue(y, one_in(g, 3) ? QUEUE_FIFO : QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
        break;
    case LIMITS:
        random_limits(g, &y->queues[yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX)]);
        break;
    case STRATEGIES:
        yard_queue(y, (enum queue_strategy)dice_below(&g->dice, QUEUE_STRATEGY_N), QUEUE_ROOT, 0,
                   UINT32_MAX);
        break;
    default: random_shares(g); break;
    }
    y->keeps = g->kind == CALM || g->kind == LIMITS;
    if (y->keeps)
        y->n_users = 0;
}

/* ---- who comes ---- */

static void random_capacity(struct game *g, struct yard_want *w)
{
    static const uint32_t graces[] = { 0, 0, 1000, 10000, 60000 };
    w->grace_ms = graces[dice_below(&g->dice, ARRAY_LEN(graces))];
    w->preemptible = one_in(g, 3);
    if (one_in(g, 3))
        w->capacity = (enum capacity_class)dice_below(&g->dice, CAPACITY_N);
    w->priority = 1 + dice_below(&g->dice, 9);
}

static void random_job(struct game *g, const char *name)
{
    static const uint32_t spreads[] = { 1, 1, 2000, 20000 };
    struct yard *y = g->yard;
    struct yard_want w = { .name = name };
    uint32_t step = 1 + dice_below(&g->dice, 5);
    w.at_ms = dice_below(&g->dice, spreads[dice_below(&g->dice, ARRAY_LEN(spreads))] * 3);
    w.limit_ms = one_in(g, 8) ? 0 : 1000 * step * (1 + (uint64_t)dice_below(&g->dice, 8));
    w.run_ms = one_in(g, 2) ? 0 : 1 + dice_below(&g->dice, 20000);
    w.gpus = 1 + dice_below(&g->dice, g->gpus);
    w.tasks = 1 + (one_in(g, 2) ? dice_below(&g->dice, y->ledger.n) : 0);
    if (one_in(g, 12))
        w.milli = 100 * (1 + dice_below(&g->dice, 9));
    w.queue = dice_below(&g->dice, (uint32_t)y->n_queues);
    w.user = w.queue + (uint32_t)y->n_queues * dice_below(&g->dice, 2);
    w.user = w.user < YARD_USERS ? w.user : w.queue;
    if (g->kind == SHARES || one_in(g, 20))
        random_capacity(g, &w);
    else if (one_in(g, 3))
        w.priority = 1 + dice_below(&g->dice, 9);
    if (y->keeps) {
        w.preemptible = false;
        w.capacity = CAPACITY_GUARANTEED;
    }
    if (w.tasks > 1 && !y->keeps && one_in(g, 6))
        w.min = 1 + dice_below(&g->dice, w.tasks);
    yard_add(y, &w);
}

/* Some of those that came are told to start together. */
static void random_bundle(struct game *g)
{
    struct yard *y = g->yard;
    uint32_t n = 0;
    for (uint32_t i = 0; i < y->n && n < 3; i++)
        if (one_in(g, 3)) {
            y->jobs[i].want.bundle = 1;
            n++;
        }
    for (uint32_t i = 0; i < y->n; i++)
        y->jobs[i].want.bundle_size = y->jobs[i].want.bundle ? n : 0;
}

static void lose_nodes(struct game *g)
{
    struct yard *y = g->yard;
    uint32_t lost = dice_below(&g->dice, y->ledger.n);
    for (uint32_t i = dice_below(&g->dice, 20); i > 0 && yard_step(y); i--)
        ;
    yard_node(y, lost, false);
    for (uint32_t i = dice_below(&g->dice, 10); i > 0 && yard_step(y); i--)
        ;
    yard_node(y, lost, true);
}

/* A bundle that is more than the cluster has stays, and keeps those that may not pass it. */
static bool is_stuck(const struct yard *y, const struct yard_job *j)
{
    enum queue_strategy s = y->queues[j->want.queue].strategy;
    bool waits = false;
    for (uint32_t i = 0; i < y->n; i++)
        waits = waits || (y->jobs[i].want.bundle && y->jobs[i].state == YARD_WAITING);
    return waits && (j->want.bundle || y->depth || (s != QUEUE_BACKFILL && s != QUEUE_ROUND_ROBIN));
}

/* Jobs that are more than their queues may ever have stay, too. */
static void all_done(struct game *g)
{
    for (uint32_t i = 0; i < g->yard->n; i++) {
        struct yard_job *j = &g->yard->jobs[i];
        uint64_t demand =
            (j->want.milli ? j->want.milli : UINT64_C(1000) * j->want.gpus) * j->want.tasks;
        bool hopeless = is_stuck(g->yard, j);
        for (uint32_t q = j->want.queue; q < g->yard->n_queues; q = g->yard->queues[q].parent)
            hopeless = hopeless || demand > g->yard->queues[q].most.gpu_milli ||
                       demand > g->yard->queues[q].user_most.gpu_milli;
        if (j->state != YARD_DONE && !hopeless &&
            sched_possible(g->yard->world.cluster, j->spec, g->yard->world.arena, &j->why) == 0)
            yard_fail(g->yard, "%s never starts", j->want.name);
    }
}

uint64_t game_play(uint64_t seed, uint64_t *digest)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                         "k", "l", "m", "n", "o", "p", "q", "r", "s", "t" };
    struct game g = { .dice = { .state = seed }, .kind = (enum kind)(seed % KINDS) };
    uint32_t nodes = 1 + dice_below(&g.dice, 3);
    g.gpus = 1 + dice_below(&g.dice, LEDGER_GPUS);
    g.total = nodes * g.gpus;
    struct yard *y = g.yard = yard_create(nodes, g.gpus);
    y->seed = seed;
    y->lines = one_in(&g, 2);
    y->permuted = one_in(&g, 4);
    random_queues(&g);
    uint32_t n = 2 + dice_below(&g.dice, ARRAY_LEN(names) - 2);
    for (uint32_t i = 0; i < n; i++)
        random_job(&g, names[i]);
    if (one_in(&g, 6) && g.kind == SHARES)
        random_bundle(&g);
    if (one_in(&g, 6) && g.kind == SHARES)
        y->depth = 1 + dice_below(&g.dice, 3);
    if (one_in(&g, 5))
        lose_nodes(&g);
    yard_run(y);
    all_done(&g);
    uint64_t steps = y->steps;
    if (digest)
        *digest = digest_add(*digest, y->digest);
    yard_destroy(y);
    return steps;
}
