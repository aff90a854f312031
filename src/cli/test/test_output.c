/* Stores of images as answers have them: none, one that is empty, and several, of which one has
 * those of accounts. */
#include "cli/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct text_node *add(struct arena *a, struct text_node *list, const char *dir,
                             int64_t bytes)
{
    struct text_node *map = text_map(a, list, NULL);
    text_str(a, map, "dir", dir);
    text_int(a, map, "bytes", bytes);
    text_int(a, map, "limit", INT64_C(64) << 30);
    text_int(a, map, "free", INT64_C(30) << 30);
    return map;
}

static void none(void **state)
{
    struct arena *a = arena_create();
    (void)state;
    assert_string_equal(out_images(a, NULL, true), "");
    assert_string_equal(out_images(a, text_list(a, NULL, NULL), false), "");
    arena_destroy(a);
}

static void stores_stand_behind_each_other(void **state)
{
    struct arena *a = arena_create();
    struct text_node *list = text_list(a, NULL, NULL);
    (void)state;
    add(a, list, "/s/images", 0);
    assert_string_equal(out_images(a, list, false), "0/64 GiB, 30 GiB free");
    text_int(a, add(a, list, "/u/images", INT64_C(3) << 30), "accounts", 2);
    assert_string_equal(out_images(a, list, false),
                        "0/64 GiB, 30 GiB free; 3.0 GiB/64 GiB, 30 GiB free");
    assert_string_equal(out_images(a, list, true),
                        "0/64 GiB in /s/images, 30 GiB free; 3.0 GiB/64 GiB in /u/images of 2 "
                        "accounts, each with that limit, 30 GiB free");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none),
        cmocka_unit_test(stores_stand_behind_each_other),
    };
    return cmocka_run_group_tests_name("cli/output", tests, NULL, NULL);
}
