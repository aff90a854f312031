/* Reports: order and bounds of problems, and the printed shape: the source line with a marker below
 * the place, also with wide characters, bad bytes and lines that are cut. */
#include "base/report.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

struct fixture {
    struct arena *arena;
    struct report r;
    struct buf out;
};

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ .arena = arena_create(), .out = BUF_INIT(1u << 20) };
    report_init(&f.r, f.arena);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    arena_destroy(f->arena);
    buf_fini(&f->out);
    return 0;
}

static void prints_as_promised(void **state)
{
    struct fixture *f = *state;
    static const char src[] = "{\n  \"memoryMB\": 64,\n\t\"comand\": \"python a.py\"\n}\n";
    struct problem *p =
        report_error(&f->r, (struct place){ .line = 3, .col = 2, .len = 8, .offset = 21 },
                     "taskRoles[0].comand", "unknown field \"comand\"");
    report_hint(&f->r, p, "\"command\"?");
    p->fix = "\"command\"";
    report_add(&f->r, SEVERITY_ERROR,
               (struct place){ .line = 2, .col = 15, .len = 2, .offset = 16 }, "m",
               "memoryMB is 64, the least is 100", "100 or more (MB for one task)");
    report_print(&f->r, "job.json", src, strlen(src), false, &f->out);
    assert_string_equal(buf_str(&f->out),
                        "job.json:2:15: memoryMB is 64, the least is 100\n"
                        "    2 |   \"memoryMB\": 64,\n"
                        "      |               ^^ 100 or more (MB for one task)\n"
                        "job.json:3:2: unknown field \"comand\"\n"
                        "    3 |     \"comand\": \"python a.py\"\n"
                        "      |     ^^^^^^^^ \"command\"?   (muster check --fix job.json)\n");
    assert_int_equal(f->r.errors, 2);
    assert_false(report_ok(&f->r));
}

static void prints_without_source_or_place(void **state)
{
    struct fixture *f = *state;
    struct problem *p =
        report_warn(&f->r, (struct place){ .line = 0 }, "", "the image is not used");
    report_hint(&f->r, p, "leave it out");
    report_error(&f->r, (struct place){ .line = 4, .col = 1, .offset = 99 }, "", "bad");
    report_print(&f->r, "f", NULL, 0, true, &f->out);
    assert_string_equal(
        buf_str(&f->out),
        "\033[1mf: \033[0m\033[33mwarning: \033[0mthe image is not used\n        leave it out\n"
        "\033[1mf:4:1: \033[0mbad\n");
    assert_int_equal(f->r.warnings, 1);
}

/* The row of the marker, and the row above it. */
static void last_rows(const struct buf *out, char source[400], char marker[400])
{
    const char *second = strchr(buf_str(out), '\n') + 1, *third = strchr(second, '\n') + 1;
    snprintf(source, 400, "%.*s", (int)(third - second - 1), second);
    snprintf(marker, 400, "%.*s", (int)strcspn(third, "\n"), third);
}

static void cuts_long_lines_around_the_place(void **state)
{
    struct fixture *f = *state;
    char src[5000], source[400], marker[400];
    memset(src, 'a', sizeof src);
    src[4000] = 'X';
    report_error(&f->r, (struct place){ .line = 1, .col = 4001, .len = 1, .offset = 4000 }, "",
                 "here");
    report_print(&f->r, "f", src, sizeof src, false, &f->out);
    last_rows(&f->out, source, marker);
    assert_true(strlen(source) < 130);
    assert_int_equal(source[strcspn(marker, "^")], 'X');
    assert_memory_equal(source, "    1 | ...aaa", 14);
    assert_string_equal(source + strlen(source) - 3, "...");
}

static void wide_characters_and_bad_bytes_keep_the_marker_right(void **state)
{
    struct fixture *f = *state;
    static const char src[] = "\xe6\xbc\xa2\xe5\xad\x97\xff\x1b X";
    char source[400], marker[400];
    report_error(&f->r, (struct place){ .line = 1, .col = 6, .len = 1, .offset = 9 }, "", "here");
    report_print(&f->r, "f", src, sizeof src - 1, false, &f->out);
    last_rows(&f->out, source, marker);
    assert_string_equal(source, "    1 | \xe6\xbc\xa2\xe5\xad\x97?? X");
    assert_string_equal(marker, "      |        ^"); /* 2 + 2 + 1 + 1 + 1 columns */
}

static void place_at_the_end_and_beyond(void **state)
{
    struct fixture *f = *state;
    report_error(&f->r, (struct place){ .line = 1, .col = 4, .len = 5, .offset = 3 }, "", "end");
    report_error(&f->r, (struct place){ .line = 9, .col = 9, .len = 5, .offset = 400 }, "", "far");
    report_print(&f->r, NULL, "abc", 3, false, &f->out);
    assert_string_equal(
        buf_str(&f->out),
        "1:4: end\n    1 | abc\n      |    ^\n9:9: far\n    9 | abc\n      |    ^\n");
}

static void counts_past_its_bound(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 5000; i++) {
        struct problem *p =
            report_error(&f->r, (struct place){ .line = i + 1, .offset = 0 }, "", "no %u", i);
        report_hint(&f->r, p, "hint %u", i);
        p->fix = "x";
    }
    assert_int_equal(f->r.n, REPORT_MAX);
    assert_int_equal(f->r.errors, 5000);
    assert_true(arena_used(f->arena) < 100000);
    report_print(&f->r, "f", NULL, 0, false, &f->out);
    assert_non_null(strstr(buf_str(&f->out), "\nand 4900 more\n"));
}

static void becomes_an_err(void **state)
{
    struct fixture *f = *state;
    struct err err;
    report_warn(&f->r, (struct place){ .line = 0 }, "", "only a warning");
    assert_true(report_ok(&f->r));
    struct problem *p =
        report_error(&f->r, (struct place){ .line = 2, .col = 3 }, "x", "x is wrong");
    report_hint(&f->r, p, "write y");
    assert_int_equal(report_err(&f->r, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_string_equal(err.what, "2:3: x is wrong");
    assert_string_equal(err.hint, "write y");
    report_error(&f->r, (struct place){ .line = 0 }, "", "z");
    report_err(&f->r, &err);
    assert_string_equal(err.what, "2 errors, first: 2:3: x is wrong");
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(prints_as_promised),
        T(prints_without_source_or_place),
        T(cuts_long_lines_around_the_place),
        T(wide_characters_and_bad_bytes_keep_the_marker_right),
        T(place_at_the_end_and_beyond),
        T(counts_past_its_bound),
        T(becomes_an_err),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
