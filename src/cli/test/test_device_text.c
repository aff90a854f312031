/* Figures of a device in words: what the driver did not say is left out, also where it would be
 * nothing, and what slows it down is told with its reasons. */
#include "cli/device_text.h"

#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *wanted, const char *device)
{
    struct arena *a = arena_create();
    struct report report;
    report_init(&report, a);
    const struct text_node *tree = json_parse(a, device, strlen(device), 0, &report);
    assert_non_null(tree);
    assert_string_equal(device_figures_text(a, tree), wanted);
    arena_destroy(a);
}

static void what_is_not_known_is_left_out(void **state)
{
    (void)state;
    check("", "{}");
    check("", "{\"name\":\"H100\",\"uuid\":\"GPU-1\"}");
    check("35 C", "{\"temperature\":35}");
    check("0% busy", "{\"utilisation\":0}"); /* known to be idle */
}

static void all_of_them_in_one_order(void **state)
{
    (void)state;
    check("87% busy, 40 GiB used, 64 C, 412 W, 1980 MHz, 2 ECC errors",
          "{\"ecc_errors\":2,\"sm_clock\":1980,\"milliwatts\":412999,\"temperature\":64,"
          "\"memory_used\":42949672960,\"utilisation\":87}");
}

/* A row that says "0 ECC errors" a thousand times is read by nobody. */
static void errors_are_told_when_there_are_some(void **state)
{
    (void)state;
    check("0 W", "{\"milliwatts\":999,\"ecc_errors\":0}");
    check("1 ECC errors", "{\"ecc_errors\":1}");
}

static void what_slows_it_down(void **state)
{
    (void)state;
    check("slowed by power", "{\"throttle\":[\"power\"]}");
    check("100% busy, slowed by power, heat",
          "{\"throttle\":[\"power\",\"heat\"],\"utilisation\":100}");
    check("", "{\"throttle\":[]}");
    check("slowed by ?", "{\"throttle\":[null]}"); /* of a server that says more than this knows */
}

static void reasons_alone(void **state)
{
    struct arena *a = arena_create();
    struct report report;
    static const char text[] = "{\"throttle\":[\"a\",\"b\",\"c\"]}";
    (void)state;
    report_init(&report, a);
    const struct text_node *tree = json_parse(a, text, strlen(text), 0, &report);
    assert_string_equal(device_throttle_text(a, tree), "a, b, c");
    assert_string_equal(device_throttle_text(a, text_map(a, NULL, NULL)), "");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(all_of_them_in_one_order),
        cmocka_unit_test(errors_are_told_when_there_are_some),
        cmocka_unit_test(what_slows_it_down),
        cmocka_unit_test(reasons_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
