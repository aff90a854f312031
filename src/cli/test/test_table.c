/* Tables by display width, with and without colours: columns are padded, clipped to the screen, and
 * wide ones shown only when they are asked for. */
#include "cli/table.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct table_column columns[] = { { .title = "#", .right = true },
                                               { .title = "NAME" },
                                               { .title = "ID", .wide = true },
                                               { .title = "NOTE" } };

static void fill(struct table *t, const char *number, const char *name, const char *note)
{
    const char **row = table_row(t);
    row[0] = number;
    row[1] = name;
    row[2] = "id";
    row[3] = note;
}

static void pads_by_width(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(4096);
    struct table t;
    (void)state;
    table_init(&t, a, columns, 4, false);
    fill(&t, "12", "ddp", "runs");
    fill(&t, "3", "训练", "");
    table_print(&t, 0, false, &out);
    assert_string_equal(out.data, " #  NAME  NOTE\n"
                                  "12  ddp   runs\n"
                                  " 3  训练\n");
    buf_fini(&out);
    arena_destroy(a);
}

static void wide_shows_all(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(4096);
    struct table t;
    (void)state;
    table_init(&t, a, columns, 4, true);
    fill(&t, "1", "a", "x");
    table_print(&t, 2, false, &out);
    assert_string_equal(out.data, "  #  NAME  ID  NOTE\n"
                                  "  1  a     id  x\n");
    buf_fini(&out);
    arena_destroy(a);
}

static void fits_a_screen(void **state)
{
    static const struct table_column narrow[] = { { .title = "#", .go = 0 },
                                                  { .title = "USER", .go = 2 },
                                                  { .title = "FROM", .go = 1 },
                                                  { .title = "NOTE" } };
    static const struct {
        size_t width;
        const char *text;
    } cases[] = {
        { 0, "#  USER  FROM  NOTE\n1  ada   dlc   waits for room\n" },
        { 29, "#  USER  FROM  NOTE\n1  ada   dlc   waits for room\n" },
        { 25, "#  USER  FROM  NOTE\n1  ada   dlc   waits for…\n" },
        { 20, "#  USER  NOTE\n1  ada   waits for …\n" },
        { 12, "#  NOTE\n1  waits fo…\n" },
        { 4, "#  NOTE\n1  waits f…\n" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_create();
        struct buf out = BUF_INIT(4096);
        struct table t;
        table_init(&t, a, narrow, 4, false);
        t.width = cases[i].width;
        const char **row = table_row(&t);
        row[0] = "1";
        row[1] = "ada";
        row[2] = "dlc";
        row[3] = "waits for room";
        table_print(&t, 0, false, &out);
        assert_string_equal(out.data, cases[i].text);
        buf_fini(&out);
        arena_destroy(a);
    }
}

static void colors_do_not_move_columns(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(4096);
    struct table t;
    (void)state;
    table_init(&t, a, columns, 4, false);
    fill(&t, "1", "ab", "x");
    table_color(&t, 1, "31");
    table_print(&t, 0, true, &out);
    assert_non_null(strstr(out.data, "1  \033[31mab\033[0m    x\n"));
    buf_clear(&out);
    table_print(&t, 0, false, &out);
    assert_null(strchr(out.data, '\033'));
    buf_fini(&out);
    arena_destroy(a);
}

static void grows(void **state)
{
    struct arena *a = arena_create();
    struct buf out = BUF_INIT(1 << 20);
    struct table t;
    (void)state;
    table_init(&t, a, columns, 4, false);
    for (size_t i = 0; i < 1000; i++)
        fill(&t, "1", i == 999 ? "last" : "x", "");
    table_print(&t, 0, false, &out);
    assert_non_null(strstr(out.data, "1  last\n"));
    buf_fini(&out);
    arena_destroy(a);
}

static void clips(void **state)
{
    struct arena *a = arena_create();
    (void)state;
    assert_string_equal(table_clip(a, "short", 10), "short");
    assert_string_equal(table_clip(a, "exactly", 7), "exactly");
    assert_string_equal(table_clip(a, "a long text", 6), "a lon…");
    assert_string_equal(table_clip(a, "训练训练", 5), "训练…");
    assert_string_equal(table_clip(a, "a\nb\tc\033d", 20), "a b c?d");
    assert_string_equal(table_clip(a, "", 3), "");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pads_by_width), cmocka_unit_test(wide_shows_all),
        cmocka_unit_test(fits_a_screen), cmocka_unit_test(colors_do_not_move_columns),
        cmocka_unit_test(grows),         cmocka_unit_test(clips)
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
