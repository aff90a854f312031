/* Random yards, every plan judged (judge.c), and all small ones. MUSTER_STEPS=5000000 goes on for
 * so many steps; SEED plays one yard. */
#include "sched/test/game.h"
#include "sched/test/yard.h"

#include "base/mem.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define STEPS 9000u /* in a unit test */

static void test_games(void **state)
{
    (void)state;
    const char *only = getenv("SEED"), *most = getenv("MUSTER_STEPS");
    uint64_t want = most ? strtoull(most, NULL, 10) : STEPS, steps = 0, seed = 1;
    if (only) {
        game_play(strtoull(only, NULL, 10), NULL);
        return;
    }
    for (; steps < want; seed++)
        steps += game_play(seed, NULL);
    print_message("%" PRIu64 " steps in %" PRIu64 " yards\n", steps, seed - 1);
}

/* ---- all small ones ---- */

#define MIX_JOBS  4u
#define MIX_TYPES 6u /* three shapes, each with a short and a long limit */

static uint64_t play_mix(uint32_t mix, enum queue_strategy strategy, uint64_t apart_ms)
{
    static const char *const names[MIX_JOBS] = { "a", "b", "c", "d" };
    static const struct yard_want types[MIX_TYPES] = {
        { .gpus = 1, .limit_ms = 2000 },
        { .gpus = 1, .limit_ms = 5000 },
        { .gpus = 2, .limit_ms = 2000 },
        { .gpus = 2, .limit_ms = 5000 },
        { .gpus = 2, .tasks = 2, .limit_ms = 2000 },
        { .gpus = 1, .tasks = 3, .limit_ms = 5000 },
    };
    struct yard *y = yard_create(2, 2);
    y->seed = mix;
    y->keeps = true;
    y->n_users = 0;
    yard_queue(y, strategy, QUEUE_ROOT, 0, UINT32_MAX);
    for (uint32_t i = 0; i < MIX_JOBS; i++, mix /= MIX_TYPES) {
        struct yard_want w = types[mix % MIX_TYPES];
        w.name = names[i];
        w.at_ms = apart_ms * i;
        w.priority = i == 3 ? 6 : 5;
        yard_add(y, &w);
    }
    yard_run(y);
    for (uint32_t i = 0; i < MIX_JOBS; i++)
        assert_int_equal(y->jobs[i].state, YARD_DONE);
    uint64_t steps = y->steps;
    yard_destroy(y);
    return steps;
}

/* Every four jobs of six types; all at once, and with MUSTER_STEPS one after the other and in every
 * kind of queue, too. */
static void test_all_mixes(void **state)
{
    (void)state;
    uint32_t n = 1, strategies = getenv("MUSTER_STEPS") ? QUEUE_STRATEGY_N : 1;
    uint64_t apart = getenv("MUSTER_STEPS") ? 3000 : 0, steps = 0;
    for (uint32_t i = 0; i < MIX_JOBS; i++)
        n *= MIX_TYPES;
    for (uint32_t s = 0; s < strategies; s++)
        for (uint64_t gap = 0; gap <= apart; gap += 500)
            for (uint32_t mix = 0; mix < n; mix++)
                steps += play_mix(mix, (enum queue_strategy)s, gap);
    print_message("%" PRIu64 " steps in all mixes of %u jobs of %u types\n", steps, MIX_JOBS,
                  MIX_TYPES);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_games),
                                        cmocka_unit_test(test_all_mixes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
