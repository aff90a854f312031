/* Fixes applied to a text: in order of place, each once, none that overlaps an earlier one. Places
 * beyond the end of the text change nothing. */
#include "cli/fix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "{\"comand\": 1, \"nmae\": 2}";

struct world {
    struct arena *arena;
    struct report report;
    struct buf out, said;
};

static void begin(struct world *w)
{
    w->arena = arena_create();
    report_init(&w->report, w->arena);
    w->out = BUF_INIT(4096);
    w->said = BUF_INIT(4096);
}

static void end(struct world *w)
{
    buf_fini(&w->out);
    buf_fini(&w->said);
    arena_destroy(w->arena);
}

static void add(struct world *w, const char *found, const char *fix)
{
    const char *at = strstr(text, found);
    struct place place = { .line = 1,
                           .col = (uint32_t)(at - text) + 1,
                           .len = (uint32_t)strlen(found),
                           .offset = (uint32_t)(at - text) };
    struct problem *p = report_add(&w->report, SEVERITY_ERROR, place, "", "unknown", "");
    p->fix = fix;
}

static void any_order(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    add(&w, "\"nmae\"", "\"name\"");
    add(&w, "\"comand\"", "\"command\"");
    assert_int_equal(fix_apply(&w.report, text, strlen(text), &w.out, &w.said), 2);
    assert_string_equal(w.out.data, "{\"command\": 1, \"name\": 2}");
    assert_string_equal(w.said.data,
                        "1:2: \"comand\" -> \"command\"\n1:15: \"nmae\" -> \"name\"\n");
    end(&w);
}

static void uncertain_stays(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    add(&w, "\"comand\"", NULL);
    assert_int_equal(fix_apply(&w.report, text, strlen(text), &w.out, &w.said), 0);
    assert_string_equal(w.out.data, text);
    end(&w);
}

static void overlap_waits(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    add(&w, "\"comand\": 1", "\"command\": 1");
    add(&w, "comand\": 1, \"n", "xx");
    assert_int_equal(fix_apply(&w.report, text, strlen(text), &w.out, &w.said), 1);
    assert_string_equal(w.out.data, "{\"command\": 1, \"nmae\": 2}");
    end(&w);
}

static void beyond_the_end_is_ignored(void **state)
{
    struct world w;
    struct place place = { .line = 9, .col = 1, .len = 5, .offset = 1000 };
    (void)state;
    begin(&w);
    report_add(&w.report, SEVERITY_ERROR, place, "", "odd", "")->fix = "x";
    place.offset = (uint32_t)strlen(text) - 2;
    report_add(&w.report, SEVERITY_ERROR, place, "", "odd", "")->fix = "x";
    assert_int_equal(fix_apply(&w.report, text, strlen(text), &w.out, &w.said), 0);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_order),
                                        cmocka_unit_test(uncertain_stays),
                                        cmocka_unit_test(overlap_waits),
                                        cmocka_unit_test(beyond_the_end_is_ignored) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
