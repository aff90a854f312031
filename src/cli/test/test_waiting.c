/* The line of a job that waits: reason, place in the queue, expected start. And what Python says of
 * a module it lacks. */
#include "cli/waiting.h"

#include "cli/missing_module.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct text_node *parse(struct arena *a, const char *json)
{
    struct report report;
    report_init(&report, a);
    return json_parse(a, json, strlen(json), 0, &report);
}

static void how_far_an_image_is(void **state)
{
    struct arena *a = arena_create();
    const char *said =
        waiting_image(a, parse(a, "{\"type\":\"image\",\"text\":\"n1 has 1Mi of 4Mi\",\"body\":"
                                  "{\"bytes\":1048576,\"total\":4194304,\"ms\":1}}"));
    assert_string_equal(said, "n1 has 1Mi of 4Mi (25 %)");
    said = waiting_image(a, parse(a, "{\"type\":\"image\",\"text\":\"n1 fetches it\",\"body\":"
                                     "{\"bytes\":0,\"ms\":1}}"));
    assert_string_equal(said, "n1 fetches it");
    /* Which it is, and that it is there, are no line that moves. */
    assert_null(waiting_image(a, parse(a, "{\"type\":\"image\",\"body\":{\"digest\":\"1\"}}")));
    assert_null(waiting_image(a, parse(a, "{\"type\":\"image\",\"body\":{\"bytes\":7}}")));
    assert_null(waiting_image(a, parse(a, "{\"type\":\"started\",\"state\":\"running\"}")));
    arena_destroy(a);
    (void)state;
}

static void reason_place_and_start(void **state)
{
    struct arena *a = arena_create();
    struct text_node *view =
        parse(a, "{\"number\":7,\"state\":\"queued\",\"reason\":\"cpu: 2 short\","
                 "\"queue\":\"vision\",\"expected_ms\":3600000}");
    const struct refused here = { .program = "muster" };
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    assert_string_equal(waiting_text(a, &here, view, parse(a, "{\"ahead\":2}"), 1000),
                        "7 waits: cpu: 2 short; 3rd in vision; starts by 01:00");
    assert_string_equal(waiting_text(a, &here, view, parse(a, "{\"ahead\":11}"), 3600001),
                        "7 waits: cpu: 2 short; 12th in vision");
    assert_string_equal(waiting_text(a, &here, view, parse(a, "{\"ahead\":21}"), 3600001),
                        "7 waits: cpu: 2 short; 22nd in vision");
    assert_string_equal(waiting_text(a, &here, view, NULL, 3600001), "7 waits: cpu: 2 short");
    view = parse(a, "{\"number\":7,\"state\":\"suspended\",\"reason\":\"x\"}");
    assert_string_equal(waiting_text(a, &here, view, NULL, 1), "7 is suspended: muster resume 7");
    assert_null(waiting_text(a, &here, parse(a, "{\"number\":7,\"state\":\"running\"}"), NULL, 1));
    arena_destroy(a);
}

static void missing_modules(void **state)
{
    struct arena *a = arena_create();
    static const char *const rows[][2] = {
        { "Traceback\nModuleNotFoundError: No module named 'torch'\n", "torch" },
        { "[rank0]: ModuleNotFoundError: No module named 'a_b.c'; 'a_b' is not a package", "a_b" },
        { "/usr/bin/python3: No module named yaml\n", "yaml" },
        { "No module named 'x'\nmore\nNo module named 'y'", "y" },
    };
    static const char *const nothing[] = { "", "ValueError: torch", "No module named ",
                                           "No module named ''", "No module named '$(reboot)'" };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(missing_module_name(a, rows[i][0]), rows[i][1]);
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        assert_null(missing_module_name(a, nothing[i]));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(how_far_an_image_is),
                                        cmocka_unit_test(reason_place_and_start),
                                        cmocka_unit_test(missing_modules) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
