/* Shares in time: cases by hand, then random queues in which every moment is tried. A limit holds
 * at each of them, with everything that was promised. */
#include "sched/quota_timeline.h"

#include "base/dice.h"
#include "base/mem.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW   100u
#define HOURS 24u /* of a random world: moments NOW .. NOW + HOURS */

static struct queue_spec queue_of(uint32_t parent, uint64_t most, uint64_t user_most)
{
    struct queue_spec q = {
        .name = "q", .parent = parent, .most = VECTOR_ANY, .user_most = VECTOR_ANY
    };
    q.most.gpu_milli = most;
    q.user_most.gpu_milli = user_most;
    return q;
}

static struct quota_request ask_of(uint64_t job, uint32_t queue, uint64_t amount, uint64_t lasts_ms)
{
    return (struct quota_request){
        .job = job, .queue = queue, .demand = { .gpu_milli = amount }, .lasts_ms = lasts_ms
    };
}

static void test_first_in_line(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct queue_spec q = queue_of(QUEUE_ROOT, 4, UINT64_MAX);
    struct quota_timeline *h = quota_timeline_create(arena, &q, 1, NOW);
    struct quota_request a = ask_of(1, 0, 2, 0), b = ask_of(2, 0, 1, 0), big = ask_of(3, 0, 4, 10);
    quota_timeline_runs(h, &a, NOW + 10);
    quota_timeline_runs(h, &b, NOW + 20);
    assert_int_equal(quota_timeline_earliest(h, &big, NOW), NOW + 20);
    struct quota_request too_big = ask_of(4, 0, 5, 10);
    assert_true(quota_timeline_earliest(h, &too_big, NOW) == QUOTA_NEVER);
    quota_timeline_keep(h, &big, NOW + 20);
    struct quota_request s = ask_of(5, 0, 1, 21), t = ask_of(6, 0, 1, 20);
    assert_int_equal(quota_timeline_blocker(h, &s), 3);
    assert_int_equal(quota_timeline_blocker(h, &t), 0);
    assert_int_equal(quota_timeline_earliest(h, &s, NOW), NOW + 30);
    assert_int_equal(quota_timeline_earliest(h, &t, NOW), NOW);
    arena_destroy(arena);
}

/* What is below the same limit waits, what is elsewhere does not. */
static void test_below_one_limit(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct queue_spec q[] = { queue_of(QUEUE_ROOT, 4, UINT64_MAX), queue_of(0, 9, UINT64_MAX),
                              queue_of(0, 9, UINT64_MAX), queue_of(QUEUE_ROOT, 1, UINT64_MAX) };
    struct quota_timeline *h = quota_timeline_create(arena, q, ARRAY_LEN(q), NOW);
    struct quota_request a = ask_of(1, 1, 3, 0), big = ask_of(2, 1, 3, 10);
    quota_timeline_runs(h, &a, NOW + 10);
    quota_timeline_keep(h, &big, quota_timeline_earliest(h, &big, NOW));
    struct quota_request one = ask_of(3, 2, 1, 99), two = ask_of(4, 2, 2, 99),
                         other = ask_of(5, 3, 1, 99);
    assert_int_equal(quota_timeline_blocker(h, &one), 0); /* 3 and 1 */
    assert_int_equal(quota_timeline_blocker(h, &two), 2);
    assert_int_equal(quota_timeline_blocker(h, &other), 0);
    quota_timeline_runs(h, &one, NOW + 99);
    struct quota_request more = ask_of(6, 2, 1, 99);
    assert_int_equal(quota_timeline_blocker(h, &more), 2);
    quota_timeline_forget(h, 1);
    assert_int_equal(quota_timeline_blocker(h, &more), 0);
    arena_destroy(arena);
}

static void test_user(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct queue_spec q = queue_of(QUEUE_ROOT, 99, 3);
    struct quota_timeline *h = quota_timeline_create(arena, &q, 1, NOW);
    struct quota_request a = ask_of(1, 0, 2, 0), big = ask_of(2, 0, 3, 10),
                         other = ask_of(3, 0, 1, 99);
    quota_timeline_runs(h, &a, NOW + 10);
    quota_timeline_keep(h, &big, quota_timeline_earliest(h, &big, NOW));
    assert_int_equal(quota_timeline_blocker(h, &other), 2);
    other.user = 1;
    assert_int_equal(quota_timeline_blocker(h, &other), 0);
    arena_destroy(arena);
}

/* ---- every moment ---- */

struct span {
    struct quota_request ask;
    uint64_t from, to;
};
struct slow {
    struct queue_spec queues[3];
    struct span spans[40];
    size_t n;
};

static bool within_at(const struct slow *s, uint64_t ms)
{
    uint64_t used[3] = { 0 }, user[3] = { 0 };
    for (size_t i = 0; i < s->n; i++) {
        const struct span *p = &s->spans[i];
        if (ms < p->from || ms >= p->to)
            continue;
        user[p->ask.user] += p->ask.demand.gpu_milli;
        for (uint32_t q = p->ask.queue; q < 3; q = s->queues[q].parent)
            used[q] += p->ask.demand.gpu_milli;
    }
    for (uint32_t q = 0; q < 3; q++) /* user i is of queue i */
        if (used[q] > s->queues[q].most.gpu_milli || user[q] > s->queues[q].user_most.gpu_milli)
            return false;
    return true;
}

static bool within(struct slow *s, const struct quota_request *ask, uint64_t from)
{
    bool good = true;
    uint64_t to = from + ask->lasts_ms;
    s->spans[s->n++] = (struct span){ *ask, from, to };
    for (uint64_t ms = from; ms < to && ms < NOW + 9 * HOURS && good; ms++)
        good = within_at(s, ms);
    s->n--;
    return good;
}

static struct quota_request random_ask(struct dice *d, uint64_t job)
{
    uint32_t queue = dice_below(d, 3);
    struct quota_request ask = ask_of(job, queue, 1 + dice_below(d, 4), 1 + dice_below(d, HOURS));
    ask.user = queue;
    return ask;
}

static void play(uint64_t seed)
{
    struct dice d = { seed };
    struct arena *arena = arena_create();
    struct slow s = { .n = 0 };
    s.queues[0] = queue_of(QUEUE_ROOT, 3 + dice_below(&d, 6), UINT64_MAX);
    s.queues[1] =
        queue_of(dice_below(&d, 2) ? 0 : QUEUE_ROOT, 3 + dice_below(&d, 4), 2 + dice_below(&d, 5));
    s.queues[2] = queue_of(dice_below(&d, 3) - 1, 3 + dice_below(&d, 4), 2 + dice_below(&d, 5));
    struct quota_timeline *h = quota_timeline_create(arena, s.queues, 3, NOW);
    for (uint64_t job = 1; job < 30; job++) {
        struct quota_request ask = random_ask(&d, job);
        if (dice_below(&d, 3)) {
            bool may = within(&s, &ask, NOW);
            if (may != (quota_timeline_earliest(h, &ask, NOW) == NOW))
                fail_msg("seed %" PRIu64 ": job %" PRIu64 " now: %d", seed, job, may);
            if (may && quota_timeline_blocker(h, &ask))
                fail_msg("seed %" PRIu64 ": job %" PRIu64 " is blocked", seed, job);
            if (may) {
                quota_timeline_runs(h, &ask, NOW + ask.lasts_ms);
                s.spans[s.n++] = (struct span){ ask, NOW, NOW + ask.lasts_ms };
            }
            continue;
        }
        uint64_t from = NOW + dice_below(&d, 9), at = from;
        while (at < NOW + 8 * HOURS && !within(&s, &ask, at))
            at++;
        uint64_t told = quota_timeline_earliest(h, &ask, from);
        if (at == NOW + 8 * HOURS ? told < at : told != at)
            fail_msg("seed %" PRIu64 ": job %" PRIu64 " told %" PRIu64 ", is %" PRIu64, seed, job,
                     told, at);
        if (told < NOW + 3 * HOURS) {
            quota_timeline_keep(h, &ask, told);
            s.spans[s.n++] = (struct span){ ask, told, told + ask.lasts_ms };
        }
    }
    arena_destroy(arena);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++)
        play(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_in_line),
        cmocka_unit_test(test_below_one_limit),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
