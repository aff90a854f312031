/* Sorting moments by their time, in linear time, against a sort that compares them one with
 * another. Moments that never come are last. */
#include "sched/time_points.h"

#include "base/dice.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MOST 3000u

static bool after(const struct time_point *a, const struct time_point *b)
{
    return a->at_ms != b->at_ms ? a->at_ms > b->at_ms : a->id > b->id;
}

/* Insertion, which leaves equals as they are. */
static void sort_slowly(struct time_point *at, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && after(&at[k - 1], &at[k]); k--) {
            struct time_point moved = at[k];
            at[k] = at[k - 1];
            at[k - 1] = moved;
        }
}

static void sorts_as_comparing_does(void **state)
{
    (void)state;
    static const uint64_t spans[] = { 1, 3, 300, 70000, UINT64_MAX };
    static const size_t sizes[] = { 0, 1, 2, 17, 255, 256, 257, 1000 };
    static struct time_point fast[MOST], room[MOST], slow[MOST];
    struct dice dice = { 1 };
    for (size_t span = 0; span < ARRAY_LEN(spans); span++)
        for (size_t size = 0; size < ARRAY_LEN(sizes); size++) {
            size_t n = sizes[size];
            for (size_t i = 0; i < n; i++)
                fast[i] = (struct time_point){ .at_ms = dice_roll(&dice) % spans[span],
                                               .id = dice_roll(&dice) % spans[(span + size) % 5],
                                               .what = &fast[i] };
            memcpy(slow, fast, n * sizeof *fast);
            time_points_sort(fast, room, n);
            sort_slowly(slow, n);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(fast[i].at_ms, slow[i].at_ms);
                assert_int_equal(fast[i].id, slow[i].id);
                assert_ptr_equal(fast[i].what, slow[i].what);
            }
        }
}

static void never_comes_last(void **state)
{
    (void)state;
    struct time_point at[] = { { .at_ms = UINT64_MAX, .id = 1 },
                               { .at_ms = 5, .id = UINT64_MAX },
                               { .at_ms = 5, .id = 2 } };
    struct time_point room[3];
    time_points_sort(at, room, 3);
    assert_int_equal(at[0].id, 2);
    assert_int_equal(at[1].id, UINT64_MAX);
    assert_int_equal(at[2].id, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sorts_as_comparing_does),
                                        cmocka_unit_test(never_comes_last) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
