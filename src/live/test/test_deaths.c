/* Who died first of a job's tasks: causes before errors about others, what one look saw together is
 * a tie, and what the notes keep is found again. */
#include "live/deaths.h"

#include "base/mem.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#define JOB                                                                                        \
    "{\"name\":\"j\",\"roles\":{\"w\":{\"replicas\":3,\"run\":\"x\",\"resources\":{\"cpu\":1}}}}"
#define PEER "RuntimeError: [1] Connection closed by peer"

struct fix {
    struct arena *arena;
    struct live *live;
    struct live_job *job;
};

static int setup(void **state)
{
    static struct fix f;
    const struct job_row row = {
        .id = 7, .generation = 1, .tasks = 3, .state = JOB_RUNNING, .name = "j", .owner = "me"
    };
    struct report report;
    f = (struct fix){ .arena = arena_create(), .live = live_create() };
    report_init(&report, f.arena);
    f.job = live_add(f.live, &row);
    f.job->spec = job_decode(f.arena, json_parse(f.arena, JOB, strlen(JOB), 0, &report), &report);
    live_make_tasks(f.job);
    for (uint32_t i = 0; i < 3; i++) {
        f.job->tasks[i].place.node = i < 2 ? "n1" : "n2";
        f.job->tasks[i].attempt_state = ATTEMPT_RUNNING;
    }
    deaths_begin(f.job);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    live_destroy(f->live);
    arena_destroy(f->arena);
    return 0;
}

/* Is it another now who was first? tail: what it said last. */
static bool dies(struct fix *f, uint32_t flat, uint64_t wakeup, const char *tail)
{
    const struct ending ending = { .exited = true, .code = 1, .tail = tail };
    char text[24] = "w/0 exited with 1";
    text[2] = (char)('0' + flat);
    f->job->tasks[flat].attempt_state = ATTEMPT_FAILED;
    f->job->tasks[flat].state = TASK_FAILED;
    return death_add(f->job, 1000,
                     &(struct death){ .flat = flat,
                                      .ending = &ending,
                                      .class = END_UNKNOWN,
                                      .wakeup = wakeup,
                                      .text = text });
}

static void the_first_that_is_heard(void **state)
{
    struct fix *f = *state;
    assert_true(dies(f, 1, 5, NULL));
    assert_false(dies(f, 0, 6, NULL));
    assert_false(dies(f, 2, 5, NULL)); /* of another node, whose wake-ups are others */
    assert_int_equal(f->job->notes.first.n, 1);
    assert_string_equal(f->job->notes.first.at[0], "w/1");
    assert_string_equal(f->job->notes.first_text, "w/1 exited with 1");
}

static void one_look_is_a_tie(void **state)
{
    struct fix *f = *state;
    assert_true(dies(f, 0, 5, NULL));
    assert_true(dies(f, 1, 5, NULL));
    assert_int_equal(f->job->notes.first.n, 2);
    assert_string_equal(f->job->notes.first.at[1], "w/1");
}

static void a_cause_goes_before_what_speaks_of_it(void **state)
{
    struct fix *f = *state;
    assert_true(dies(f, 0, 5, PEER));
    assert_true(deaths_wait(f->job) > 1000); /* two live that it may speak of */
    assert_true(dies(f, 2, 1, NULL));
    assert_string_equal(f->job->notes.first.at[0], "w/2");
    assert_int_equal(deaths_wait(f->job), 0);
    assert_false(dies(f, 1, 7, PEER));
    f->job->tasks[2].state = TASK_WAITING; /* it comes again */
    death_forget(f->job, 2);
    assert_string_equal(f->job->notes.first.at[0], "w/0");
}

static void who_was_told_to_end_does_not_count(void **state)
{
    struct fix *f = *state;
    const struct ending ending = { .signal = 15, .by = BY_USER };
    assert_false(death_add(f->job, 1000,
                           &(struct death){ .ending = &ending, .class = END_UNKNOWN, .text = "" }));
    assert_int_equal(f->job->notes.first.n, 0);
    deaths_name_root(f->job, 1, "rank 3 was killed");
    assert_string_equal(f->job->notes.first_text, "w/1: rank 3 was killed");
    assert_false(dies(f, 0, 5, NULL)); /* launchers know better */
}

static void notes_are_found_again(void **state)
{
    struct fix *f = *state;
    const char *known[] = { "w/2" }, *gone[] = { "w/3" };
    f->job->notes.first = (struct words){ .at = known, .n = 1 };
    deaths_load(f->job);
    assert_int_equal(f->job->first, 2);
    f->job->notes.first = (struct words){ .at = gone, .n = 1 };
    deaths_load(f->job);
    assert_int_equal(f->job->notes.first.n, 0);
    assert_int_equal(live_task_named(f->job, "w/0"), 0);
    assert_int_equal(live_task_named(f->job, "w"), UINT32_MAX);
    assert_int_equal(live_task_named(f->job, "v/0"), UINT32_MAX);
    assert_int_equal(live_task_named(f->job, "w/x"), UINT32_MAX);
}

int main(void)
{
#define TEST(of) cmocka_unit_test_setup_teardown(of, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_first_that_is_heard),
        TEST(one_look_is_a_tie),
        TEST(a_cause_goes_before_what_speaks_of_it),
        TEST(who_was_told_to_end_does_not_count),
        TEST(notes_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
