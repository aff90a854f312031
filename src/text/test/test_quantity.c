/* Quantities of Kubernetes ("100m", "1.5Gi", "1e3"): its grammar, its rounding up, its bounds, and
 * that nothing else is taken for one. */
#include "text/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void good(const char *text, uint32_t scale, uint64_t want)
{
    uint64_t got = 0;
    if (quantity_scan(text, scale, &got) != QUANTITY_OK || got != want)
        fail_msg("%s: %llu, not %llu", text, (unsigned long long)got, (unsigned long long)want);
}

static void bad(const char *text, enum quantity want)
{
    uint64_t got = 77;
    enum quantity is = quantity_scan(text, 1, &got);
    if (is != want || got != 77)
        fail_msg("%s: %d, not %d", text, (int)is, (int)want);
}

static void test_units(void **state)
{
    (void)state;
    good("8Gi", 1, 8ull << 30);
    good("30000Mi", 1, 30000ull << 20);
    good("1.5Ki", 1, 1536);
    good("1e3", 1, 1000);
    good("1E3", 1, 1000);
    good("12e-1", 1000, 1200);
    good("1Ei", 1, 1ull << 60);
    good("1E", 1, 1000000000000000000ull);
    good("100M", 1, 100000000);
    good("2k", 1, 2000);
    good("+3", 1, 3);
    good("0", 1, 0);
    good("-0", 1, 0);
    good(".5", 1000, 500);
    good("5.", 1000, 5000);
}

static void test_rounded_up(void **state)
{
    (void)state;
    good("500m", 1000, 500);
    good("0.5", 1000, 500);
    good("100u", 1000, 1);
    good("1n", 1000, 1);
    good("0.1", 1, 1);
    good("1.0001", 1000, 1001);
}

static void test_refused(void **state)
{
    static const char *const words[] = { "",      "4GiB", "4G i", "4 Gi", "8gi", "m",
                                         "1.2.3", "1e+",  "0x10", "1K",   "1e",  "--1",
                                         "1mi",   "1e3k", "Gi",   "." };
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        bad(words[i], QUANTITY_NONE);
    bad("-1", QUANTITY_NEGATIVE);
    bad("-0.5Gi", QUANTITY_NEGATIVE);
    bad("9223372036854775808", QUANTITY_LARGE);
    bad("16Ei", QUANTITY_LARGE);
    bad("1e30", QUANTITY_LARGE);
    bad("1e999999999999", QUANTITY_LARGE);
    bad("1234567890123456789012345678901234567890", QUANTITY_NONE);
}

static void test_edges(void **state)
{
    (void)state;
    good("9223372036854775807", 1, INT64_MAX);
    good("1e-30", 1, 1);
    good("0e30", 1, 0);
    good("000000000000000000000000000000000000001", 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_rounded_up),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
