/* Accounts in rows: what comes back is what was put there, whole, and never root, whatever the row
 * says. */
#include "job/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "text/tree.h"

#include <string.h>

static const uint32_t groups[] = { 1001, 27 };
static const struct account ann = {
    .name = "ann", .home = "/home/ann", .shell = "/bin/sh", .ids = { 1001, 1001, groups, 2 }
};

static void assert_same(const struct account *found)
{
    assert_non_null(found);
    assert_string_equal(found->name, "ann");
    assert_string_equal(found->home, "/home/ann");
    assert_string_equal(found->shell, "/bin/sh");
    assert_int_equal(found->ids.uid, 1001);
    assert_int_equal(found->ids.gid, 1001);
    assert_int_equal(found->ids.n_groups, 2);
    assert_memory_equal(found->ids.groups, groups, sizeof groups);
}

static void one_comes_back_from_its_row(void **state)
{
    struct arena *arena = arena_create();
    struct text_node *row = text_map(arena, NULL, NULL);
    (void)state;
    assert_null(account_find(arena, NULL));
    assert_null(account_find(arena, row));
    account_put(arena, row, &ann);
    assert_same(account_find(arena, row));
    assert_same(account_copy(arena, &ann));
    arena_destroy(arena);
}

static void none_is_root(void **state)
{
    struct arena *arena = arena_create();
    struct text_node *row = text_map(arena, NULL, NULL);
    struct account root = ann;
    (void)state;
    root.ids.uid = 0;
    account_put(arena, row, &root);
    assert_null(account_find(arena, row));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_comes_back_from_its_row),
        cmocka_unit_test(none_is_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
