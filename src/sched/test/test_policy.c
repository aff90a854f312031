/* Strategies and shares over time, in yards with a job or two of each kind: turns, promises,
 * borrowing and reclaiming, caps, weights, bids. Every plan on the way is judged. */
#include "sched/test/yard.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SEC 1000u

static struct yard *queue_yard(enum queue_strategy strategy)
{
    struct yard *y = yard_create(2, 4);
    yard_queue(y, strategy, QUEUE_ROOT, 0, UINT32_MAX);
    return y;
}

static void is(struct yard *y, const char *times)
{
    yard_run(y);
    assert_string_equal(yard_show(y), times);
    yard_destroy(y);
}

/* Both nodes are half full, `big` needs a whole one, s and t would fit. */
static void head_of_line(struct yard *y)
{
    YARD_JOB(y, .name = "x", .gpus = 2, .run_ms = 10 * SEC, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "y", .gpus = 3, .run_ms = 20 * SEC, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "big", .at_ms = SEC, .tasks = 2, .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "s", .at_ms = 2 * SEC, .gpus = 2, .limit_ms = 30 * SEC);
    YARD_JOB(y, .name = "t", .at_ms = 2 * SEC, .gpus = 1, .limit_ms = 5 * SEC);
}

static void test_fifo(void **state)
{
    (void)state;
    struct yard *y = queue_yard(QUEUE_FIFO);
    head_of_line(y);
    yard_until(y, 3 * SEC);
    assert_int_equal(yard_why(y, "s"), WAIT_AHEAD);
    is(y, "x 0-10 y 0-20 big 20-30 s 30-60 t 30-35");
}

static void test_round_robin(void **state)
{
    (void)state;
    struct yard *y = queue_yard(QUEUE_ROUND_ROBIN);
    head_of_line(y);
    is(y, "x 0-10 y 0-20 big 32-42 s 2-32 t 2-7");
}

static void test_backfill(void **state)
{
    (void)state;
    struct yard *y = queue_yard(QUEUE_BACKFILL);
    head_of_line(y);
    yard_until(y, 3 * SEC);
    assert_int_equal(yard_why(y, "big"), WAIT_RESOURCE);
    assert_int_equal(yard_find(y, "big")->why.at_ms, YARD_START + 20 * SEC);
    assert_int_equal(yard_why(y, "s"), WAIT_RESERVED);
    is(y, "x 0-10 y 0-20 big 20-30 s 30-60 t 2-7");
}

/* The second is tried after QUOTA_STEP_MS, the third after two. */
static void test_balance(void **state)
{
    (void)state;
    struct yard *y = queue_yard(QUEUE_BALANCE);
    YARD_JOB(y, .name = "x", .gpus = 3, .run_ms = 900 * SEC, .limit_ms = 900 * SEC);
    YARD_JOB(y, .name = "big", .tasks = 2, .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "b", .gpus = 4, .tasks = 2, .limit_ms = 9 * SEC);
    YARD_JOB(y, .name = "c", .gpus = 1, .limit_ms = 5 * SEC);
    YARD_JOB(y, .name = "tick", .at_ms = 200 * SEC, .gpus = 1, .limit_ms = SEC);
    YARD_JOB(y, .name = "tock", .at_ms = 301 * SEC, .gpus = 1, .limit_ms = SEC);
    YARD_JOB(y, .name = "tack", .at_ms = 601 * SEC, .gpus = 1, .limit_ms = SEC);
    yard_until(y, 210 * SEC);
    assert_int_equal(yard_why(y, "b"), WAIT_AHEAD);
    yard_until(y, 302 * SEC); /* b is tried, and blocked */
    assert_int_equal(yard_why(y, "b"), WAIT_RESOURCE);
    assert_int_equal(yard_why(y, "c"), WAIT_AHEAD);
    is(y, "x 0-900 big 900-910 b 910-919 c 601-606 tick 601-602 tock 601-602 tack 601-602");
}

/* From priority 7 on nobody passes; below everybody does, and waiting raises up to 6. */
static void test_intelligent(void **state)
{
    (void)state;
    struct yard *y = queue_yard(QUEUE_INTELLIGENT);
    YARD_JOB(y, .name = "x", .gpus = 3, .run_ms = 100 * SEC, .limit_ms = 100 * SEC);
    YARD_JOB(y, .name = "big", .at_ms = SEC, .priority = 6, .tasks = 2, .gpus = 4,
             .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "s", .at_ms = SEC, .gpus = 4, .priority = 1, .limit_ms = 200 * SEC);
    YARD_JOB(y, .name = "top", .at_ms = 2 * SEC, .priority = 7, .tasks = 2, .gpus = 4,
             .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "t", .at_ms = 3 * SEC, .priority = 6, .gpus = 1, .limit_ms = 5 * SEC);
    yard_until(y, 4 * SEC);
    assert_int_equal(yard_why(y, "t"), WAIT_AHEAD);
    is(y, "x 0-100 big 211-221 s 1-201 top 201-211 t 221-226");
}

static void test_waiting_raises(void **state)
{
    (void)state;
    struct yard *y = queue_yard(QUEUE_INTELLIGENT);
    YARD_JOB(y, .name = "x", .gpus = 4, .tasks = 2, .run_ms = 650 * SEC, .limit_ms = 650 * SEC);
    YARD_JOB(y, .name = "old", .gpus = 4, .tasks = 2, .priority = 1, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "young", .at_ms = 640 * SEC, .gpus = 4, .tasks = 2, .priority = 3,
             .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "high", .at_ms = 640 * SEC, .gpus = 4, .tasks = 2, .priority = 4,
             .limit_ms = 10 * SEC);
    is(y, "x 0-650 old 660-670 young 670-680 high 650-660"); /* 1 and two steps: 3, and older */
}

static void test_priority(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    YARD_JOB(y, .name = "x", .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "a", .at_ms = SEC, .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "b", .at_ms = 2 * SEC, .gpus = 4, .limit_ms = 10 * SEC, .priority = 6);
    is(y, "x 0-10 a 20-30 b 10-20"); /* nobody is ended: x is not preemptible */
}

/* ---- nobody is kept out ---- */

/* Small jobs come all the time and would always fit before the large one does. */
static void test_no_starvation(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
    for (int backfill = 0; backfill < 2; backfill++) {
        struct yard *y = queue_yard(backfill ? QUEUE_BACKFILL : QUEUE_ROUND_ROBIN);
        struct yard_job *big = NULL;
        for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
            YARD_JOB(y, .name = names[i], .at_ms = 5 * SEC * i, .gpus = 2, .limit_ms = 11 * SEC);
            if (i == 0)
                big = YARD_JOB(y, .name = "big", .at_ms = SEC, .tasks = 2, .gpus = 4,
                               .limit_ms = 10 * SEC);
        }
        yard_run(y);
        assert_int_equal(big->started_ms, YARD_START + (backfill ? 11 : 56) * SEC);
        yard_destroy(y);
    }
}

/* What ends before the promise begins may start; what does not may use what the promise leaves. */
static void test_around_a_promise(void **state)
{
    (void)state;
    struct yard *y = queue_yard(QUEUE_BACKFILL);
    YARD_JOB(y, .name = "x", .gpus = 3, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "y", .gpus = 2, .limit_ms = 30 * SEC);
    YARD_JOB(y, .name = "big", .at_ms = SEC, .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "short", .at_ms = 2 * SEC, .gpus = 1, .limit_ms = 18 * SEC);
    YARD_JOB(y, .name = "long", .at_ms = 2 * SEC, .gpus = 2, .limit_ms = 100 * SEC);
    yard_until(y, 3 * SEC);
    assert_int_equal(yard_find(y, "big")->expected_ms, YARD_START + 20 * SEC);
    is(y, "x 0-20 y 0-30 big 20-30 short 2-20 long 2-102");
}

static void test_reserved(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    YARD_JOB(y, .name = "x", .gpus = 3, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "big", .at_ms = SEC, .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "s", .at_ms = SEC, .gpus = 1, .limit_ms = 20 * SEC);
    yard_until(y, 2 * SEC);
    assert_int_equal(yard_why(y, "s"), WAIT_RESERVED);
    assert_int_equal(yard_find(y, "s")->why.blocker, yard_find(y, "big")->id);
    is(y, "x 0-20 big 20-30 s 30-50");
}

/* A job that ends before its limit lets the promise come sooner. */
static void test_sooner_than_told(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    YARD_JOB(y, .name = "x", .gpus = 3, .run_ms = 5 * SEC, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "big", .gpus = 4, .limit_ms = 10 * SEC);
    is(y, "x 0-5 big 5-15");
}

/* ---- shares ---- */

/* q1 lends what it is sure of and takes it back: the younger of q0's goes, and waits. */
static void test_reclaim(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 4, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 4, UINT32_MAX);
    YARD_JOB(y, .name = "own", .gpus = 4, .limit_ms = 99 * SEC);
    YARD_JOB(y, .name = "lent", .at_ms = SEC, .gpus = 4, .limit_ms = 90 * SEC);
    YARD_JOB(y, .name = "back", .at_ms = 10 * SEC, .queue = 1, .gpus = 4, .limit_ms = 40 * SEC);
    yard_until(y, 10 * SEC);
    assert_int_equal(yard_find(y, "lent")->evictions, 1);
    is(y, "own 0-99 lent 50-140 back 10-50");
}

static void test_keeps(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    y->queues[yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 4, UINT32_MAX)].keeps = true;
    YARD_JOB(y, .name = "lent", .gpus = 4, .limit_ms = 90 * SEC);
    YARD_JOB(y, .name = "back", .at_ms = SEC, .queue = 1, .gpus = 4, .limit_ms = 40 * SEC);
    is(y, "lent 0-90 back 90-130");
}

/* Who comes back within the time it takes to end somebody ends nobody. */
static void test_worth_waiting(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 4, UINT32_MAX);
    YARD_JOB(y, .name = "lent", .gpus = 4, .limit_ms = 30 * SEC);
    YARD_JOB(y, .name = "back", .at_ms = SEC, .queue = 1, .gpus = 4, .limit_ms = 40 * SEC);
    is(y, "lent 0-30 back 30-70");
}

/* q0 [8 sure]: q1 [4] and q2 [4] below it; q3 outside borrows. What q1 asks is taken from q3 first,
 * and from q2 only what that has above its own. */
static void test_nested(void **state)
{
    (void)state;
    struct yard *y = yard_create(3, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 8, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, 0, 4, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, 0, 4, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    YARD_JOB(y, .name = "a", .queue = 2, .gpus = 4, .limit_ms = 200 * SEC);
    YARD_JOB(y, .name = "b", .at_ms = SEC, .queue = 2, .gpus = 4, .limit_ms = 200 * SEC);
    YARD_JOB(y, .name = "c", .at_ms = 2 * SEC, .queue = 3, .gpus = 4, .limit_ms = 200 * SEC);
    YARD_JOB(y, .name = "d", .at_ms = 9 * SEC, .queue = 1, .gpus = 4, .limit_ms = 50 * SEC);
    yard_until(y, 9 * SEC);
    assert_int_equal(yard_find(y, "a")->evictions, 0); /* q2 is sure of it */
    assert_int_equal(yard_find(y, "b")->evictions + yard_find(y, "c")->evictions, 1);
    yard_run(y);
    yard_destroy(y);
}

static void test_parent_most(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, 4);
    yard_queue(y, QUEUE_BACKFILL, 0, 0, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, 0, 0, UINT32_MAX);
    YARD_JOB(y, .name = "a", .queue = 1, .gpus = 3, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "b", .at_ms = SEC, .queue = 2, .gpus = 2, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "c", .at_ms = SEC, .queue = 2, .gpus = 1, .limit_ms = 20 * SEC);
    yard_until(y, 2 * SEC);
    assert_int_equal(yard_why(y, "b"), WAIT_QUOTA);
    assert_int_equal(yard_find(y, "b")->why.queue, 0);
    assert_int_equal(yard_find(y, "b")->why.at_ms, YARD_START + 20 * SEC);
    is(y, "a 0-20 b 20-40 c 1-21"); /* c is over when b needs 2 of 4 */
}

/* The large job of a queue that is full: small ones start only if they are over when it can. */
static void test_share_is_kept(void **state)
{
    (void)state;
    struct yard *y = yard_create(3, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, 4);
    YARD_JOB(y, .name = "a", .gpus = 2, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "b", .gpus = 1, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "big", .at_ms = SEC, .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "s", .at_ms = 2 * SEC, .gpus = 1, .limit_ms = 19 * SEC);
    YARD_JOB(y, .name = "t", .at_ms = 2 * SEC, .gpus = 1, .limit_ms = 18 * SEC);
    yard_until(y, 3 * SEC);
    assert_int_equal(yard_find(y, "big")->why.at_ms, YARD_START + 20 * SEC);
    assert_int_equal(yard_why(y, "s"), WAIT_RESERVED);
    assert_int_equal(yard_find(y, "s")->why.blocker, yard_find(y, "big")->id);
    is(y, "a 0-10 b 0-20 big 20-30 s 30-49 t 2-20");
}

static void test_user_cap(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    uint32_t q = yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    y->queues[q].user_most.gpu_milli = 3000;
    YARD_JOB(y, .name = "a", .gpus = 2, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "big", .at_ms = SEC, .gpus = 3, .limit_ms = 5 * SEC);
    YARD_JOB(y, .name = "long", .at_ms = 2 * SEC, .gpus = 1, .limit_ms = 50 * SEC);
    YARD_JOB(y, .name = "other", .at_ms = 2 * SEC, .user = 1, .gpus = 3, .limit_ms = 50 * SEC);
    yard_until(y, 3 * SEC);
    assert_int_equal(yard_why(y, "big"), WAIT_USER);
    assert_int_equal(yard_why(y, "long"), WAIT_RESERVED);
    is(y, "a 0-20 big 20-25 long 25-75 other 2-52");
}

/* Those of one user that are over a limit do not take the promise from those who lack room. */
static void test_user_cap_promises(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    uint32_t q = yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    y->queues[q].user_most.gpu_milli = 2000;
    y->n_users = 0; /* by age alone */
    YARD_JOB(y, .name = "a", .gpus = 2, .limit_ms = 60 * SEC);
    YARD_JOB(y, .name = "x", .user = 2, .gpus = 1, .limit_ms = 30 * SEC);
    YARD_JOB(y, .name = "over", .at_ms = SEC, .gpus = 2, .limit_ms = 60 * SEC);
    YARD_JOB(y, .name = "room", .at_ms = 2 * SEC, .user = 1, .gpus = 2, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "s", .at_ms = 3 * SEC, .user = 3, .gpus = 1, .limit_ms = 40 * SEC);
    is(y, "a 0-60 x 0-30 over 60-120 room 30-40 s 40-80");
}

/* One with many jobs and one with a single one: who used less comes first. */
static void test_fair_users(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    for (uint32_t i = 0; i < 40; i++)
        YARD_JOB(y, .name = "many", .gpus = 2, .limit_ms = 10 * SEC);
    struct yard_job *one =
        YARD_JOB(y, .name = "one", .at_ms = 15 * SEC, .user = 1, .gpus = 2, .limit_ms = 10 * SEC);
    yard_run(y);
    assert_int_equal(one->started_ms, YARD_START + 20 * SEC);
    yard_destroy(y);
}

static void test_weights(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    y->queues[yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX)].weight = 3;
    y->queues[yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX)].weight = 1;
    for (uint32_t i = 0; i < 8; i++)
        YARD_JOB(y, .name = "j", .queue = i % 2, .gpus = 1, .limit_ms = 10 * SEC);
    yard_step(y);
    uint32_t of[2] = { 0 };
    for (uint32_t i = 0; i < 8; i++)
        of[i % 2] += y->jobs[i].state == YARD_RUNNING;
    assert_int_equal(of[0], 3);
    assert_int_equal(of[1], 1);
    yard_run(y);
    yard_destroy(y);
}

/* ---- who gives way ---- */

static void test_idle_goes_first(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    YARD_JOB(y, .name = "low", .gpus = 2, .priority = 1, .preemptible = true, .limit_ms = 90 * SEC);
    YARD_JOB(y, .name = "idle", .gpus = 2, .priority = 9, .capacity = CAPACITY_IDLE,
             .limit_ms = 90 * SEC, .grace_ms = 2 * SEC);
    YARD_JOB(y, .name = "new", .at_ms = 5 * SEC, .gpus = 2, .limit_ms = 10 * SEC);
    yard_until(y, 6 * SEC);
    assert_int_equal(yard_why(y, "new"), WAIT_EVICTING);
    is(y, "low 0-90 idle 17-107 new 7-17");
}

/* Of those that wait, idle ones come last, whatever their priority: they would have to go again. */
static void test_idle_waits(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    YARD_JOB(y, .name = "x", .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "idle", .gpus = 4, .priority = 9, .capacity = CAPACITY_IDLE,
             .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "a", .at_ms = SEC, .gpus = 4, .limit_ms = 10 * SEC);
    is(y, "x 0-10 idle 20-30 a 10-20");
}

/* Above its queue's most, on what is idle; uncounted there. */
static void test_any_capacity(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, 2);
    YARD_JOB(y, .name = "a", .gpus = 2, .limit_ms = 50 * SEC);
    YARD_JOB(y, .name = "any", .gpus = 2, .capacity = CAPACITY_ANY, .limit_ms = 50 * SEC);
    yard_step(y);
    assert_true(yard_find(y, "any")->idle);
    is(y, "a 0-50 any 0-50");
}

static void test_preemptible(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    YARD_JOB(y, .name = "same", .gpus = 2, .priority = 6, .preemptible = true,
             .limit_ms = 90 * SEC);
    YARD_JOB(y, .name = "low", .gpus = 2, .priority = 5, .preemptible = true, .limit_ms = 90 * SEC);
    YARD_JOB(y, .name = "new", .at_ms = 5 * SEC, .priority = 6, .gpus = 2, .limit_ms = 40 * SEC);
    is(y, "same 0-90 low 45-135 new 5-45");
}

/* The one that has lost least since it was saved. */
static void test_least_loss(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    YARD_JOB(y, .name = "a", .gpus = 4, .preemptible = true, .limit_ms = 900 * SEC);
    YARD_JOB(y, .name = "b", .at_ms = SEC, .gpus = 4, .preemptible = true, .limit_ms = 900 * SEC);
    YARD_JOB(y, .name = "new", .at_ms = 50 * SEC, .priority = 9, .gpus = 4, .limit_ms = 40 * SEC);
    yard_until(y, 40 * SEC);
    yard_find(y, "a")->saved_ms = YARD_START + 39 * SEC;
    yard_until(y, 50 * SEC);
    assert_int_equal(yard_find(y, "a")->evictions, 1);
    assert_int_equal(yard_find(y, "b")->evictions, 0);
    yard_run(y);
    yard_destroy(y);
}

/* What was made free is not for those who come meanwhile, of whatever priority. */
static void test_claims_keep(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    YARD_JOB(y, .name = "a", .gpus = 2, .preemptible = true, .limit_ms = 900 * SEC);
    YARD_JOB(y, .name = "b", .gpus = 2, .preemptible = true, .limit_ms = 900 * SEC,
             .grace_ms = 20 * SEC);
    YARD_JOB(y, .name = "new", .at_ms = 5 * SEC, .priority = 8, .gpus = 4, .limit_ms = 40 * SEC);
    YARD_JOB(y, .name = "thief", .at_ms = 6 * SEC, .priority = 9, .gpus = 2, .limit_ms = 60 * SEC);
    YARD_JOB(y, .name = "quick", .at_ms = 7 * SEC, .gpus = 1, .limit_ms = 10 * SEC);
    yard_until(y, 44 * SEC);
    assert_string_equal(yard_show(y), "a 0- b 0- new 25- thief - quick 7-17");
    yard_run(y);
    yard_destroy(y);
}

/* Two claimants of one queue do not both count on the same share. */
static void test_one_share_one_claim(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 4, UINT32_MAX);
    YARD_JOB(y, .name = "a", .gpus = 4, .limit_ms = 90 * SEC);
    YARD_JOB(y, .name = "b", .gpus = 4, .limit_ms = 90 * SEC);
    YARD_JOB(y, .name = "c", .at_ms = SEC, .queue = 1, .gpus = 4, .limit_ms = 40 * SEC);
    YARD_JOB(y, .name = "d", .at_ms = SEC, .queue = 1, .gpus = 4, .limit_ms = 41 * SEC);
    yard_until(y, 10 * SEC);
    assert_int_equal(y->evictions, 1);
    yard_run(y);
    yard_destroy(y);
}

static void test_bundle(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 0, 6);
    YARD_JOB(y, .name = "x", .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "a", .gpus = 3, .bundle = 1, .bundle_size = 2, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "b", .gpus = 2, .bundle = 1, .bundle_size = 2, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "c", .at_ms = SEC, .gpus = 2, .limit_ms = 5 * SEC);
    yard_until(y, 0); /* each would do: 4 + 3 is over 6, and 4 + 2 is not */
    assert_int_equal(yard_why(y, "b"), WAIT_QUOTA);
    is(y, "x 0-10 a 10-20 b 10-20 c 1-6");
}

static void test_spot(void **state)
{
    (void)state;
    struct yard *y = yard_create(1, 4);
    YARD_JOB(y, .name = "spot", .gpus = 1, .bid = 500, .limit_ms = 10 * SEC, .grace_ms = SEC);
    YARD_JOB(y, .name = "tick", .at_ms = 3 * SEC, .gpus = 1, .limit_ms = SEC);
    yard_until(y, 2 * SEC);
    struct node_spec dear = *y->ledger.at[0].spec;
    dear.price_milli = 600;
    cluster_put(y->world.cluster, &dear);
    yard_until(y, 4 * SEC);
    assert_string_equal(yard_show(y), "spot 0- tick 3-4");
    assert_int_equal(yard_find(y, "spot")->evictions, 1);
    dear.price_milli = 0;
    cluster_put(y->world.cluster, &dear);
    YARD_JOB(y, .name = "tock", .at_ms = 6 * SEC, .gpus = 1, .limit_ms = SEC);
    is(y, "spot 6-16 tick 3-4 tock 6-7");
}

/* ---- gangs of ElasticJob, cells of HiveD ---- */

/* min-available of total-number: the rest comes when there is room, and holds up nobody. */
static void test_min_available(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    YARD_JOB(y, .name = "x", .gpus = 4, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "gang", .gpus = 2, .tasks = 4, .min = 2, .limit_ms = 20 * SEC);
    YARD_JOB(y, .name = "strict", .gpus = 2, .tasks = 3, .limit_ms = 20 * SEC);
    yard_until(y, 9 * SEC);
    assert_int_equal(yard_find(y, "gang")->n_places, 2);
    assert_int_equal(yard_find(y, "strict")->n_places, 0);
    yard_until(y, 10 * SEC);
    assert_int_equal(yard_find(y, "strict")->n_places + yard_find(y, "gang")->n_places, 4);
    yard_run(y);
    yard_destroy(y);
}

/* A member dies with its node: Strict is all again, together. */
static void test_strict_again(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    YARD_JOB(y, .name = "gang", .gpus = 4, .tasks = 2, .limit_ms = 20 * SEC);
    yard_until(y, 5 * SEC);
    yard_node(y, 1, false);
    assert_int_equal(yard_why(y, "gang"), WAIT_NODES_DOWN);
    assert_int_equal(y->ledger.at[0].tasks, 0);
    yard_node(y, 1, true);
    is(y, "gang 5-25");
}

/* Two gangs that each fit half never share the cluster between them. */
static void test_gangs_do_not_starve_each_other(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    YARD_JOB(y, .name = "a", .gpus = 2, .tasks = 3, .limit_ms = 10 * SEC);
    YARD_JOB(y, .name = "b", .gpus = 2, .tasks = 3, .limit_ms = 10 * SEC);
    is(y, "a 0-10 b 10-20");
}

/* VC safety: the cells of a virtual cluster are nodes with a label, so that work of others, which
 * may use them when they are idle, cannot leave them in pieces. */
static void test_cells(void **state)
{
    (void)state;
    struct yard *y = yard_create(4, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 8, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 8, UINT32_MAX);
    for (uint32_t i = 0; i < 16; i++) /* opportunistic: one device each, everywhere */
        YARD_JOB(y, .name = "o", .queue = 1, .gpus = 1, .capacity = CAPACITY_IDLE,
                 .limit_ms = 500 * SEC);
    struct yard_job *cell =
        YARD_JOB(y, .name = "cell", .at_ms = SEC, .gpus = 4, .limit_ms = 50 * SEC);
    yard_until(y, SEC);
    assert_int_equal(cell->started_ms, YARD_START + SEC); /* a whole node, four are ended */
    assert_int_equal(y->evictions, 4);
    yard_run(y);
    yard_destroy(y);
}

/* A guaranteed job of one virtual cluster never ends a guaranteed one of another. */
static void test_cells_are_safe(void **state)
{
    (void)state;
    struct yard *y = yard_create(2, 4);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 4, UINT32_MAX);
    yard_queue(y, QUEUE_BACKFILL, QUEUE_ROOT, 4, UINT32_MAX);
    YARD_JOB(y, .name = "a", .gpus = 4, .zone = "a", .preemptible = true, .limit_ms = 90 * SEC);
    YARD_JOB(y, .name = "b", .queue = 1, .gpus = 2, .limit_ms = 90 * SEC, .preemptible = true);
    YARD_JOB(y, .name = "c", .at_ms = SEC, .queue = 1, .priority = 9, .gpus = 4,
             .limit_ms = 40 * SEC);
    is(y, "a 0-90 b 41-131 c 1-41"); /* within its own, a higher priority does */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_round_robin),
        cmocka_unit_test(test_backfill),
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_intelligent),
        cmocka_unit_test(test_waiting_raises),
        cmocka_unit_test(test_priority),
        cmocka_unit_test(test_no_starvation),
        cmocka_unit_test(test_around_a_promise),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_sooner_than_told),
        cmocka_unit_test(test_reclaim),
        cmocka_unit_test(test_keeps),
        cmocka_unit_test(test_worth_waiting),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_parent_most),
        cmocka_unit_test(test_share_is_kept),
        cmocka_unit_test(test_user_cap),
        cmocka_unit_test(test_user_cap_promises),
        cmocka_unit_test(test_fair_users),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_idle_goes_first),
        cmocka_unit_test(test_idle_waits),
        cmocka_unit_test(test_any_capacity),
        cmocka_unit_test(test_preemptible),
        cmocka_unit_test(test_least_loss),
        cmocka_unit_test(test_claims_keep),
        cmocka_unit_test(test_one_share_one_claim),
        cmocka_unit_test(test_bundle),
        cmocka_unit_test(test_spot),
        cmocka_unit_test(test_min_available),
        cmocka_unit_test(test_strict_again),
        cmocka_unit_test(test_gangs_do_not_starve_each_other),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_cells_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
