/* Job ids: they rise with the clock, never repeat when it is set back, and hold 43 bits of
 * milliseconds. Text both ways sorts like the numbers. */
#include "job/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_next_follows_clock(void **state)
{
    (void)state;
    uint64_t now = UINT64_C(1790000000000);
    uint64_t first = job_id_next(0, now);
    assert_int_equal(first, now << 20);
    assert_int_equal(job_id_next(first, now), first + 1);
    assert_int_equal(job_id_next(first, now + 1), (now + 1) << 20);
}

static void test_clock_back_never_repeats(void **state)
{
    (void)state;
    uint64_t last = job_id_next(0, 5000);
    for (int i = 0; i < 1000; i++) {
        uint64_t id = job_id_next(last, 4000);
        assert_true(id == last + 1);
        last = id;
    }
}

static void test_43_bits_of_milliseconds(void **state)
{
    (void)state;
    assert_int_equal(job_id_next(0, (UINT64_C(1) << 43) | 7), UINT64_C(7) << 20);
    assert_true(job_id_next(0, (UINT64_C(1) << 43) - 1) <= INT64_MAX);
}

static void test_round_trip(void **state)
{
    (void)state;
    const uint64_t ids[] = { 1, 35, 36, UINT64_C(1790000000000) << 20, INT64_MAX, UINT64_MAX };
    char text[JOB_ID_TEXT], with[JOB_ID_TEXT + 3];
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        uint64_t back = 0;
        job_id_format(text, ids[i]);
        assert_int_equal(strlen(text), 13);
        assert_true(job_id_parse(text, &back));
        assert_true(back == ids[i]);
        snprintf(with, sizeof with, "dlc%s", text);
        back = 0;
        assert_true(job_id_parse(with, &back));
        assert_true(back == ids[i]);
    }
    assert_string_equal(job_id_format(text, 36), "0000000000010");
}

static void test_text_sorts_like_numbers(void **state)
{
    (void)state;
    char a[JOB_ID_TEXT], b[JOB_ID_TEXT];
    for (uint64_t id = 1; id < UINT64_MAX / 3; id = id * 3 + 1) {
        job_id_format(a, id);
        job_id_format(b, id * 2 + 1);
        assert_true(strcmp(a, b) < 0);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "",
                                       "1",
                                       "000000000000",
                                       "00000000000000",
                                       "zzzzzzzzzzzzz",
                                       "000000000001A",
                                       "00000000000 1",
                                       "0000000000000",
                                       "dlc1",
                                       "3w5e11264sgsg",
                                       "-000000000001" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t id = 77;
        assert_false(job_id_parse(bad[i], &id));
        assert_int_equal(id, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_follows_clock),
        cmocka_unit_test(test_clock_back_never_repeats),
        cmocka_unit_test(test_43_bits_of_milliseconds),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_text_sorts_like_numbers),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
