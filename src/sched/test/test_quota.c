/* What a claim may skip: when the least that the jobs of a queue hold cannot be taken from it, none
 * of them can, not even after others were taken off the books. Random trees. */
#include "sched/quota.h"

#include "base/arena.h"
#include "base/dice.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define QUEUES 7u
#define JOBS   40u

struct game {
    struct dice dice;
    struct queue_spec queues[QUEUES];
    uint32_t n;
    struct quota_claim jobs[JOBS];
    bool may[QUEUES];
};

/* Often nothing of an amount. */
static struct vector some(struct game *g, uint32_t most)
{
    return (struct vector){ .cpu_milli = dice_below(&g->dice, 2) ? dice_below(&g->dice, most) : 0,
                            .memory = dice_below(&g->dice, 4) ? 0 : dice_below(&g->dice, most),
                            .gpu_milli = dice_below(&g->dice, 3) ? dice_below(&g->dice, most) : 0 };
}

static void make(struct game *g)
{
    g->n = 1 + dice_below(&g->dice, QUEUES);
    for (uint32_t i = 0; i < g->n; i++)
        g->queues[i] =
            (struct queue_spec){ .name = "q",
                                 .parent = i && dice_below(&g->dice, 2) ? dice_below(&g->dice, i)
                                                                        : QUEUE_ROOT,
                                 .sure = some(g, 200),
                                 .most = VECTOR_ANY,
                                 .user_most = VECTOR_ANY,
                                 .keeps = dice_below(&g->dice, 8) == 0 };
    for (uint32_t i = 0; i < JOBS; i++)
        g->jobs[i] =
            (struct quota_claim){ .queue = dice_below(&g->dice, g->n), .demand = some(g, 20) };
}

static void look_at_queues(struct game *g, const struct quota *q,
                           const struct quota_claim *claimant)
{
    for (uint32_t at = 0; at < g->n; at++) {
        struct quota_claim least = { .queue = at };
        bool found = false;
        for (uint32_t i = 0; i < JOBS; i++) {
            if (g->jobs[i].queue != at)
                continue;
            if (!found)
                least.demand = g->jobs[i].demand;
            vector_least(&least.demand, &g->jobs[i].demand);
            found = true;
        }
        g->may[at] = found && quota_may_reclaim(q, claimant, &least);
    }
}

static void least_speaks_for_all(void **state)
{
    (void)state;
    uint32_t taken = 0, skipped = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct game g = { .dice = { seed } };
        struct arena *arena = arena_create();
        make(&g);
        struct quota *q = quota_create(arena, g.queues, g.n);
        for (uint32_t i = 0; i < JOBS; i++)
            quota_charge(q, g.jobs[i].queue, 0, &g.jobs[i].demand);
        const struct quota_claim claimant = { .queue = dice_below(&g.dice, g.n),
                                              .demand = some(&g, 20) };
        look_at_queues(&g, q, &claimant);
        for (uint32_t i = 0; i < JOBS; i++) {
            skipped += !g.may[g.jobs[i].queue];
            if (!quota_may_reclaim(q, &claimant, &g.jobs[i]))
                continue;
            if (!g.may[g.jobs[i].queue])
                fail_msg("seed %u: a job of queue %u may be taken", (unsigned)seed,
                         g.jobs[i].queue);
            quota_refund(q, g.jobs[i].queue, 0, &g.jobs[i].demand);
            taken++;
        }
        arena_destroy(arena);
    }
    assert_true(taken > 1000);
    assert_true(skipped > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(least_speaks_for_all) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
