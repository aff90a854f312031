/* What tasks share is made once for each key, and found again; variables that a task does without
 * are named once. */
#include "dialect/place_cache.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct made {
    unsigned times;
    const char *text;
};

static const void *make(struct arena *arena, const void *arg)
{
    struct made *made = *(struct made *const *)arg;
    made->times++;
    return made->text ? arena_strdup(arena, made->text) : NULL;
}

static void test_made_once(void **state)
{
    (void)state;
    struct arena *all = arena_create();
    struct job_place place = { .n = 2, .once = place_cache_create(all) };
    struct made one = { .text = "a,b" }, *of_one = &one, none = { 0 }, *of_none = &none;
    for (unsigned task = 0; task < 3; task++) {
        struct arena *own = arena_create();
        char key[16] = "list";
        assert_string_equal(place_cache_get(&place, own, key, make, &of_one), "a,b");
        memset(key, 'x', sizeof key - 1); /* the key was copied */
        assert_null(place_cache_get(&place, own, "none", make, &of_none));
        arena_destroy(own);
    }
    assert_int_equal(one.times, 1);
    assert_int_equal(none.times, 1); /* that there is none is known, too */
    arena_destroy(all);
}

static void test_nothing_kept(void **state)
{
    (void)state;
    struct arena *own = arena_create();
    const struct job_place place = { .n = 1 };
    struct made one = { .text = "a" }, *of_one = &one;
    assert_string_equal(place_cache_get(&place, own, "list", make, &of_one), "a");
    assert_string_equal(place_cache_get(&place, own, "list", make, &of_one), "a");
    assert_int_equal(one.times, 2);
    place_leave_out(&place, "LIST");
    assert_null(place_left_out(&place)[0]);
    arena_destroy(own);
}

static void test_left_out(void **state)
{
    (void)state;
    struct arena *all = arena_create();
    const struct job_place place = { .n = 1, .once = place_cache_create(all) };
    static const char *const names[] = { "A", "B", "C", "D", "E", "F", "G", "H", "I",
                                         "J", "K", "L", "M", "N", "O", "P", "Q", "R" };
    place_leave_out(&place, "PEERS");
    place_leave_out(&place, "CONFIG");
    place_leave_out(&place, "PEERS");
    assert_string_equal(place_left_out(&place)[0], "PEERS");
    assert_string_equal(place_left_out(&place)[1], "CONFIG");
    assert_null(place_left_out(&place)[2]);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        place_leave_out(&place, names[i]); /* more than are kept */
    size_t n = 0;
    while (place_left_out(&place)[n])
        n++;
    assert_int_equal(n, 16);
    arena_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_once),
        cmocka_unit_test(test_nothing_kept),
        cmocka_unit_test(test_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
