/* Messages between srun and nodes: what is written reads back whole, and what is cut short, too
 * large or of another kind is refused. */
#include "wire/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int take(struct buf *from, struct wire_frame *frame)
{
    const struct wire_kinds kinds = STEP_KINDS;
    size_t used;
    return wire_next_of(kinds, from->data, from->len, frame, &used);
}

static void test_start(void **state)
{
    const char *argv[] = { "cat", "-n" }, *env[] = { "A=b" }, *own[] = { "head" };
    uint32_t gpus[] = { 0, 3 };
    struct step_task tasks[] = { { .rank = 4 }, { .rank = 7, .argv = { own, 1 } } };
    const struct step_start start = { .step = 2,
                                      .argv = { argv, 2 },
                                      .env = { env, 1 },
                                      .dir = "/home/ada",
                                      .path_front = "",
                                      .some_gpus = true,
                                      .gpus = { gpus, 2 },
                                      .gpus_per_task = 1,
                                      .input = true,
                                      .tasks = tasks,
                                      .n_tasks = 2 };
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    struct wire_frame frame;
    struct step_start back;
    (void)state;
    step_put(&out, &start);
    assert_int_equal(take(&out, &frame), 1);
    assert_int_equal(frame.kind, STEP_FRAME_START);
    assert_int_equal(step_get(&frame, arena, &back), 0);
    assert_string_equal(back.argv.at[1], "-n");
    assert_string_equal(back.path_front, "");
    assert_int_equal(back.gpus.at[1], 3);
    assert_int_equal(back.tasks[1].rank, 7);
    assert_string_equal(back.tasks[1].argv.at[0], "head");
    for (size_t len = 0; len < frame.len; len++) { /* cut anywhere */
        struct wire_frame cut = frame;
        cut.len = len;
        assert_int_equal(step_get(&cut, arena, &back), -1);
    }
    arena_destroy(arena);
}

static void test_none(void **state)
{
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    const struct step_start nothing = { .dir = "/" };
    struct step_start back;
    struct wire_frame frame;
    (void)state;
    step_put(&out, &nothing);
    assert_int_equal(take(&out, &frame), 1);
    assert_int_equal(step_get(&frame, arena, &back), -1); /* a step without tasks */
    buf_clear(&out);
    wire_end(&out, wire_begin(&out, WIRE_HELLO, 0));
    assert_int_equal(take(&out, &frame), -1); /* a frame of agents */
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_start), cmocka_unit_test(test_none) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
