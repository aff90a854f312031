/* Numbers, sizes, durations and times, read and printed back; characters, columns and nearest
 * names. Times are compared with the C library's over centuries. */
#include "base/scan.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

struct row {
    const char *text;
    uint64_t value;
};

static void numbers(void **state)
{
    (void)state;
    uint64_t u = 77;
    int64_t i = 77;
    assert_true(scan_u64("18446744073709551615", 0, UINT64_MAX, &u));
    assert_true(u == UINT64_MAX);
    static const char *const bad[] = {
        "", " 1", "1 ", "+1", "-1", "1x", "0x10", "18446744073709551616", "99999999999999999999999"
    };
    u = 77;
    for (size_t k = 0; k < ARRAY_LEN(bad); k++)
        assert_false(scan_u64(bad[k], 0, UINT64_MAX, &u));
    assert_false(scan_u64("11", 0, 10, &u));
    assert_false(scan_u64("1", 2, 10, &u));
    assert_int_equal(u, 77);
    assert_true(scan_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &i));
    assert_true(i == INT64_MIN);
    assert_true(scan_i64("9223372036854775807", INT64_MIN, INT64_MAX, &i));
    assert_false(scan_i64("9223372036854775808", INT64_MIN, INT64_MAX, &i));
    assert_false(scan_i64("-", INT64_MIN, INT64_MAX, &i));
    assert_false(scan_i64("--1", INT64_MIN, INT64_MAX, &i));
    assert_false(scan_i64("-3", -2, 2, &i));
    assert_true(i == INT64_MAX);
}

static void reals(void **state)
{
    (void)state;
    double d = 0;
    assert_true(scan_real("-1.5e3", &d));
    assert_true(d < -1499.9 && d > -1500.1);
    assert_true(scan_real("0", &d) && scan_real("-0.0", &d) && scan_real("1E+2", &d));
    static const char *const bad[] = { "",    "-",     "01",    ".5",  "1.", "1e", "1e+", "inf",
                                       "nan", "1e999", "0x1p3", "1,5", " 1", "1 ", "+1" };
    for (size_t k = 0; k < ARRAY_LEN(bad); k++)
        assert_false(scan_real(bad[k], &d));
}

static void durations(void **state)
{
    (void)state;
    static const struct row good[] = {
        { "90s", 90000 }, { "15m", 900000 },           { "2h", 7200000 },   { "30d", 2592000000 },
        { "250ms", 250 }, { "1h30m", 5400000 },        { "60", 60000 },     { "1.5", 1500 },
        { "0", 0 },       { "1d2h3m4s5ms", 93784005 }, { "1.5h", 5400000 }, { "0.001", 1 },
    };
    static const char *const bad[] = { "",
                                       "s",
                                       "1x",
                                       "1h1h",
                                       "1m1h",
                                       "-1s",
                                       "1 s",
                                       "1s ",
                                       "1.",
                                       ".5s",
                                       "1h30",
                                       "99999999999999999999s",
                                       "999999999999999999d" };
    uint64_t ms = 5;
    for (size_t k = 0; k < ARRAY_LEN(good); k++) {
        assert_true(scan_duration(good[k].text, &ms));
        assert_int_equal(ms, good[k].value);
    }
    ms = 5;
    for (size_t k = 0; k < ARRAY_LEN(bad); k++)
        assert_false(scan_duration(bad[k], &ms));
    assert_int_equal(ms, 5);
}

static void sizes(void **state)
{
    (void)state;
    static const struct row good[] = {
        { "64", 64 },
        { "64Mi", 64ull << 20 },
        { "16Gi", 16ull << 30 },
        { "1Ti", 1ull << 40 },
        { "500M", 500000000 },
        { "2G", 2000000000 },
        { "10k", 10000 },
        { "16GiB", 16ull << 30 },
        { "1.5Gi", 3ull << 29 },
        { "0", 0 },
        { "0.25Ki", 256 },
        { "3kB", 3000 },
    };
    static const char *const bad[] = { "",     "Gi",   "1.5",    "1g",         "1GiBB",
                                       "1 Gi", "-1Gi", "1..5Gi", "99999999Ei", "1bi" };
    uint64_t v = 5;
    for (size_t k = 0; k < ARRAY_LEN(good); k++) {
        assert_true(scan_size(good[k].text, &v));
        assert_int_equal(v, good[k].value);
    }
    v = 5;
    for (size_t k = 0; k < ARRAY_LEN(bad); k++)
        assert_false(scan_size(bad[k], &v));
    assert_int_equal(v, 5);
}

static void thousandths(void **state)
{
    (void)state;
    static const struct row good[] = {
        { "0.5", 500 }, { "2", 2000 }, { "100m", 100 }, { "0.125", 125 }, { "1.500", 1500 }
    };
    static const char *const bad[] = { "",   "0.1234", "1.5m", "m",
                                       "-1", "1M",     "0.5 ", "99999999999999999999" };
    uint64_t v = 5;
    for (size_t k = 0; k < ARRAY_LEN(good); k++) {
        assert_true(scan_milli(good[k].text, &v));
        assert_int_equal(v, good[k].value);
    }
    for (size_t k = 0; k < ARRAY_LEN(bad); k++)
        assert_false(scan_milli(bad[k], &v));
}

static void formats(void **state)
{
    (void)state;
    char out[FMT_MAX];
    assert_string_equal(fmt_duration(out, 90000), "90s");
    assert_string_equal(fmt_duration(out, 7200000), "2h");
    assert_string_equal(fmt_duration(out, 5400000), "1h30m");
    assert_string_equal(fmt_duration(out, 250), "250ms");
    assert_string_equal(fmt_duration(out, 0), "0s");
    assert_string_equal(fmt_duration(out, 60000), "1m");
    assert_string_equal(fmt_duration(out, 150000), "2m30s");
    assert_string_equal(fmt_age(out, 41999), "41s");
    assert_string_equal(fmt_age(out, 3 * 60000 + 59000), "3m");
    assert_string_equal(fmt_age(out, 2 * 3600000), "2h");
    assert_string_equal(fmt_age(out, 5 * 86400000ull), "5d");
    assert_string_equal(fmt_age(out, 3), "0s");
    assert_string_equal(fmt_size(out, 16ull << 30), "16Gi");
    assert_string_equal(fmt_size(out, 3ull << 29), "1.5Gi");
    assert_string_equal(fmt_size(out, 12345), "12345");
    assert_string_equal(fmt_size(out, 0), "0");
    assert_string_equal(fmt_size(out, 200000000), "200M");
    assert_string_equal(fmt_bytes(out, 812), "812");
    assert_string_equal(fmt_bytes(out, 24046624768ull), "22Gi");
    assert_string_equal(fmt_bytes(out, 1500ull << 20), "1.5Gi");
    assert_string_equal(fmt_milli(out, 500), "0.5");
    assert_string_equal(fmt_int(out, 0), "0");
    assert_string_equal(fmt_int(out, -10), "-10");
    assert_string_equal(fmt_int(out, INT64_MAX), "9223372036854775807");
    assert_string_equal(fmt_int(out, INT64_MIN), "-9223372036854775808");
    assert_string_equal(fmt_milli(out, 2000), "2");
    assert_string_equal(fmt_milli(out, 1050), "1.05");
    assert_string_equal(fmt_time(out, 0), "1970-01-01T00:00:00.000Z");
    assert_string_equal(fmt_time(out, 1767323045678), "2026-01-02T03:04:05.678Z");
    setenv("TZ", "XXX-1", 1);
    tzset();
    assert_string_equal(fmt_time_local(out, 1767319445000), "2026-01-02 03:04:05 +0100");
}

/* Every day of some centuries and some far ones, as the C library has them. */
static void times_are_the_c_librarys(void **state)
{
    char out[FMT_MAX], expected[FMT_MAX];
    (void)state;
    for (uint64_t day = 0; day < 400000; day += day < 150000 ? 1 : 997) {
        uint64_t ms = day * 86400000 + day * 7919 % 86400000;
        time_t t = (time_t)(ms / 1000);
        struct tm tm;
        gmtime_r(&t, &tm);
        size_t n = strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(expected + n, sizeof expected - n, ".%03uZ", (unsigned)(ms % 1000));
        assert_string_equal(fmt_time(out, ms), expected);
    }
    assert_string_equal(fmt_time(out, 253402300800000), "10000-01-01T00:00:00.000Z");
    assert_string_equal(fmt_time(out, UINT64_MAX), "584556019-04-03T14:25:51.615Z");
}

static void formats_read_back(void **state)
{
    (void)state;
    char out[FMT_MAX];
    uint64_t v, back;
    for (v = 1; v < UINT64_MAX / 3; v = v * 3 + v % 7) {
        assert_true(scan_size(fmt_size(out, v), &back));
        assert_int_equal(back, v);
        if (v > UINT64_MAX / 1000000)
            continue;
        assert_true(scan_duration(fmt_duration(out, v), &back));
        assert_int_equal(back, v);
        assert_true(scan_milli(fmt_milli(out, v), &back));
        assert_int_equal(back, v);
    }
    for (v = 0; v < 200000; v += 250) {
        assert_true(scan_duration(fmt_duration(out, v), &back));
        assert_int_equal(back, v);
    }
}

static void nearest_names(void **state)
{
    (void)state;
    static const char *const names[] = { "name",    "command",   "image",
                                         "jobName", "gpuNumber", "minFailedTaskCount",
                                         "cpu" };
    size_t n = ARRAY_LEN(names);
    assert_string_equal(scan_nearest("comand", names, n), "command");
    assert_string_equal(scan_nearest("commnad", names, n), "command");
    assert_string_equal(scan_nearest("jobname", names, n), "jobName");
    assert_string_equal(scan_nearest("job_name", names, n), "jobName");
    assert_null(scan_nearest("gpuNum", names, n)); /* three letters of six */
    assert_string_equal(scan_nearest("minFailTaskCount", names, n), "minFailedTaskCount");
    assert_string_equal(scan_nearest("cpus", names, n), "cpu");
    assert_null(scan_nearest("xyz", names, n));
    assert_null(scan_nearest("", names, n));
    assert_null(scan_nearest("gp", names, n));
    char endless[300];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_null(scan_nearest(endless, names, n));
}

static void utf8(void **state)
{
    (void)state;
    static const char *const good[] = { "",
                                        "plain ascii text, longer than a word",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "\xef\xbf\xbd",
                                        "\xf4\x8f\xbf\xbf",
                                        "abcdefg\xc3\xa9hijklmnop" };
    static const char *const bad[] = { "\x80",
                                       "\xc0\xaf",
                                       "\xc1\xbf",
                                       "\xe0\x80\xaf",
                                       "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xc3",
                                       "\xe2\x82",
                                       "abcdefgh\xff",
                                       "\xf8\x88\x80\x80\x80" };
    for (size_t k = 0; k < ARRAY_LEN(good); k++)
        assert_true(scan_utf8(good[k], strlen(good[k])));
    for (size_t k = 0; k < ARRAY_LEN(bad); k++)
        assert_false(scan_utf8(bad[k], strlen(bad[k])));
    assert_false(scan_utf8("a\0b", 3));
    assert_int_equal(scan_utf8_prefix("12345678abc\xffzz", 14), 11);
    for (size_t n = 1; n < 40; n++) { /* a bad byte at each position of a word */
        char text[40];
        memset(text, 'a', sizeof text);
        text[n] = '\0';
        assert_int_equal(scan_utf8_prefix(text, sizeof text), n);
        text[n] = '\x90';
        assert_int_equal(scan_utf8_prefix(text, sizeof text), n);
    }
}

static void columns(void **state)
{
    (void)state;
    assert_int_equal(scan_columns("abc", 3), 3);
    assert_int_equal(scan_columns("\xc3\xa9", 2), 1);
    assert_int_equal(scan_columns("e\xcc\x81", 3), 1);                /* combining accent */
    assert_int_equal(scan_columns("\xe6\xbc\xa2\xe5\xad\x97", 6), 4); /* two ideographs */
    assert_int_equal(scan_columns("\xf0\x9f\x98\x80", 4), 2);
    assert_int_equal(scan_columns("\xff\xfe", 2), 2);
    assert_int_equal(scan_columns("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(reals),
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(thousandths),
        cmocka_unit_test(formats),
        cmocka_unit_test(times_are_the_c_librarys),
        cmocka_unit_test(formats_read_back),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(utf8),
        cmocka_unit_test(columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
