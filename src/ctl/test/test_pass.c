/* What a pass of the scheduler changes, and that asking changes nothing: neither a job that cannot
 * be read, nor the reason of one that waits for others, nor anything in the live state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "answer/state_text.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/pass.h"

#include <string.h>

#define LARGE "{\"name\":\"a\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":3}}}}"
#define BUNDLE                                                                                     \
    "{\"name\":\"b\",\"project\":\"p\",\"gang\":[{\"name\":\"one\",\"roles\":[\"w\"],"             \
    "\"with\":[\"p/two\"]}],\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":1}}}}"

static int setup(void **state)
{
    static struct world w;
    world_init(&w);
    w.code_all = FAKE_RUNS;
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world_fini(*state);
    return 0;
}

struct asked {
    struct arena *arena;
    struct sched_snapshot snapshot;
};

static struct asked ask(struct world *w,
                        void (*how)(struct ctl *, struct arena *, struct sched_snapshot *))
{
    struct asked asked = { .arena = arena_create() };
    how(w->ctl, asked.arena, &asked.snapshot);
    return asked;
}

/* The first of a line is read when a pass asks for it. */
static void a_job_that_cannot_be_read_is_ended_by_a_pass_alone(void **state)
{
    struct world *w = *state;
    world_submit(w, LARGE);
    world_submit(w, LARGE);
    uint64_t job = world_submit(w, LARGE);
    struct live_job *live = live_find(w->ctl->live, job);
    assert_int_equal(live->row.state, JOB_QUEUED);
    live->spec = NULL;
    live->row.tasks++; /* as no spec in the records has them */

    struct asked asked = ask(w, pass_ask);
    assert_int_equal(asked.snapshot.n_jobs, 0);
    assert_int_equal(live->row.state, JOB_QUEUED);
    assert_true(turn_idle(w->ctl));
    arena_destroy(asked.arena);

    asked = ask(w, pass_begin);
    assert_int_equal(asked.snapshot.n_jobs, 0);
    assert_int_equal(live->row.state, JOB_FAILED);
    arena_destroy(asked.arena);
    live->row.tasks--;
}

static void who_asks_tells_no_job_whom_it_waits_for(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(w, BUNDLE);
    struct live_job *live = live_find(w->ctl->live, job);
    const char *why = "starts together with gang p/two, which no job has";
    assert_string_equal(live_reason(live).text, why);
    live_set_reason(live, "something else");

    struct asked asked = ask(w, pass_ask);
    assert_int_equal(asked.snapshot.n_jobs, 0);
    assert_string_equal(live_reason(live).text, "something else");
    arena_destroy(asked.arena);

    asked = ask(w, pass_begin);
    assert_string_equal(live_reason(live).text, why);
    arena_destroy(asked.arena);
}

/* Made twice of the same, it is the same, and nothing has moved between. */
static void a_snapshot_changes_nothing(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 4; i++)
        world_submit(w, LARGE);
    AUTO_BUF struct buf before = BUF_INIT(1u << 20), after = BUF_INIT(1u << 20);
    struct asked first = ask(w, pass_ask);
    struct asked second = { .arena = arena_create() };
    answer_state_text(w->ctl, &before);
    snapshot_make(w->ctl, second.arena, &second.snapshot);
    answer_state_text(w->ctl, &after);
    assert_string_equal(buf_str(&before), buf_str(&after));
    assert_true(turn_idle(w->ctl));
    assert_int_equal(first.snapshot.n_jobs, 1);
    assert_int_equal(first.snapshot.jobs[0].n_alike, 1);
    assert_int_equal(first.snapshot.n_running, 2);
    assert_int_equal(second.snapshot.n_jobs, first.snapshot.n_jobs);
    assert_true(second.snapshot.jobs[0].id == first.snapshot.jobs[0].id);
    assert_int_equal(second.snapshot.jobs[0].n_alike, first.snapshot.jobs[0].n_alike);
    assert_int_equal(second.snapshot.n_running, first.snapshot.n_running);
    arena_destroy(first.arena);
    arena_destroy(second.arena);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_job_that_cannot_be_read_is_ended_by_a_pass_alone),
        IN_WORLD(who_asks_tells_no_job_whom_it_waits_for),
        IN_WORLD(a_snapshot_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
