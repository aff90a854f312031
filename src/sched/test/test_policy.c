#include "sched/test/yard.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_round_robin),
        cmocka_unit_test(test_backfill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
