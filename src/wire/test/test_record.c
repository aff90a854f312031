/* Log records, written and read back from any number of their bytes, with the bounds of each
 * member. Names of segments and directories both ways; other files are no segments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/record.h"

static void records_survive(void **state)
{
    (void)state;
    const struct record sent[] = {
        { .len = 0, .stream = RECORD_STDOUT, .time_us = 0 },
        { .len = RECORD_MAX, .stream = RECORD_STDERR, .rank = 65535, .time_us = UINT64_MAX },
        { .len = 80, .stream = RECORD_MUSTER, .rank = 1, .time_us = 1700000000000000u },
    };
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        unsigned char head[RECORD_HEAD];
        record_put(head, &sent[i]);
        struct record got;
        for (size_t n = 0; n < RECORD_HEAD; n++)
            assert_int_equal(record_get(head, n, &got), 0);
        assert_int_equal(record_get(head, RECORD_HEAD, &got), 1);
        assert_int_equal(got.len, sent[i].len);
        assert_int_equal(got.stream, sent[i].stream);
        assert_int_equal(got.rank, sent[i].rank);
        assert_true(got.time_us == sent[i].time_us);
    }
}

static void what_is_no_record(void **state)
{
    (void)state;
    unsigned char head[RECORD_HEAD];
    struct record got;
    record_put(head, &(struct record){ .len = RECORD_MAX + 1, .stream = RECORD_STDOUT });
    assert_int_equal(record_get(head, sizeof head, &got), -1);
    record_put(head, &(struct record){ .len = 1, .stream = RECORD_STDOUT });
    head[4] = 0;
    assert_int_equal(record_get(head, sizeof head, &got), -1);
    head[4] = 4;
    assert_int_equal(record_get(head, sizeof head, &got), -1);
    head[4] = RECORD_STDOUT;
    head[5] = 2;
    assert_int_equal(record_get(head, sizeof head, &got), -1);
    assert_int_equal(record_get((const unsigned char *)"plain text, not a log", 21, &got), -1);
}

static void names(void **state)
{
    (void)state;
    char name[SEGMENT_NAME];
    assert_string_equal(segment_name(name, 0), "0000000000000000.log");
    assert_string_equal(segment_name(name, 0x123abcu), "0000000000123abc.log");
    uint64_t offset = 5;
    assert_int_equal(segment_parse(segment_name(name, UINT64_MAX), &offset), 0);
    assert_true(offset == UINT64_MAX);
    const char *bad[] = { "",
                          ".",
                          "0.log",
                          "000000000000000G.log",
                          "0000000000000000.txt",
                          "0000000000000000.log.new",
                          "000000000000000A.log" };
    offset = 5;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(segment_parse(bad[i], &offset), -1);
    assert_int_equal(offset, 5);
    char dir[LOG_DIR_MAX];
    assert_string_equal(log_dir_name(dir, "worker", 0, 1), "log/worker.0.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_survive),
        cmocka_unit_test(what_is_no_record),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
