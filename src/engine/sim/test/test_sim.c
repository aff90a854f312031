/* The engine of numbers: what it says and when, lost nodes, grace, generations; and that it bears
 * the repeats that every engine must. Dues of one time keep their order. */
#include "engine/sim/sim.h"

#include "base/mem.h"
#include "base/vec.h"
#include "engine/sim/due.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct said {
    char text[96];
};
struct world {
    struct engine *engine;
    VEC(struct said) said;
    struct sim_run next; /* of attempts that begin */
    unsigned over;
    uint64_t last_started;
    void *last_held;
};

static void on_fact(void *arg, const struct engine_fact *f)
{
    static const char *const words[FACT_N] = {
        [FACT_STARTED] = "started", [FACT_ENDED] = "ended",    [FACT_RELEASED] = "released",
        [FACT_AGENT_GONE] = "gone", [FACT_NODE_DOWN] = "down", [FACT_NODE_UP] = "up",
    };
    struct world *w = arg;
    struct said *said = vec_add(&w->said);
    assert_non_null(words[f->kind]);
    int n = snprintf(said->text, sizeof said->text, "%llu %s %s", (unsigned long long)f->at_ms,
                     words[f->kind], f->node);
    if (f->kind == FACT_STARTED)
        snprintf(said->text + n, sizeof said->text - (size_t)n, " %u.%u", f->task.index,
                 f->attempt);
    if (f->kind == FACT_ENDED && f->ending.exited)
        snprintf(said->text + n, sizeof said->text - (size_t)n, " %u.%u code %d by %s",
                 f->task.index, f->attempt, f->ending.code, end_origin_word(f->ending.by));
    else if (f->kind == FACT_ENDED)
        snprintf(said->text + n, sizeof said->text - (size_t)n, " %u.%u signal %d by %s",
                 f->task.index, f->attempt, f->ending.signal, end_origin_word(f->ending.by));
}

static struct sim_run on_run(void *arg, const struct launch *launch, const struct launch_task *task)
{
    (void)launch, (void)task;
    return ((struct world *)arg)->next;
}

static void on_over(void *arg, const struct engine_fact *fact, const struct sim_run *run,
                    uint64_t started_ms)
{
    struct world *w = arg;
    (void)fact;
    w->over++;
    w->last_started = started_ms;
    w->last_held = run->held;
}

static int setup(void **state)
{
    struct world *w = mem_new(sizeof *w);
    struct sim_watch watch = { .run = on_run, .over = on_over, .arg = w };
    w->engine = sim_create(&watch, 100);
    w->engine->sink = (struct engine_sink){ .fact = on_fact, .arg = w };
    w->next = (struct sim_run){ .start_ms = 5, .run_ms = 50 };
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    w->engine->ops->destroy(w->engine);
    vec_fini(&w->said);
    free(w);
    return 0;
}

struct want {
    uint64_t job;
    uint32_t generation, seq, first, n, attempt;
    const char *node;
};

static int start(struct world *w, struct want want)
{
    struct launch_task tasks[8];
    struct err err = { 0 };
    struct launch launch = { .generation = { .job = want.job, .number = want.generation },
                             .seq = want.seq,
                             .node = want.node,
                             .grace_ms = 20,
                             .tasks = tasks,
                             .n_tasks = want.n };
    memset(tasks, 0, sizeof tasks);
    for (uint32_t i = 0; i < want.n; i++) {
        tasks[i].ref.index = want.first + i;
        tasks[i].attempt = want.attempt;
    }
    return w->engine->ops->start(w->engine, &launch, &err);
}

static void stop(struct world *w, uint64_t job, const struct task_ref *task, enum stop_how how)
{
    struct err err;
    struct generation generation = { .job = job, .number = 1 };
    assert_int_equal(w->engine->ops->stop(w->engine, generation, task, how, BY_USER, &err), 0);
}

/* All that was said since the last look. */
static void expect(struct world *w, const char *const *lines)
{
    size_t n = 0;
    for (; lines[n]; n++) {
        if (n >= w->said.n)
            fail_msg("not said: %s", lines[n]);
        assert_string_equal(w->said.at[n].text, lines[n]);
    }
    if (n < w->said.n)
        fail_msg("said as well: %s", w->said.at[n].text);
    vec_clear(&w->said);
}
#define EXPECT(w, ...) expect(w, (const char *const[]){ __VA_ARGS__, NULL })
#define NOTHING(w)     assert_int_equal((w)->said.n, 0)

static void test_a_life(void **state)
{
    struct world *w = *state;
    int mine;
    w->next.held = &mine;
    assert_int_equal(sim_next(w->engine), UINT64_MAX);
    start(w,
          (struct want){ .job = 7, .generation = 1, .seq = 1, .n = 2, .attempt = 1, .node = "a" });
    NOTHING(w); /* never from inside a call */
    assert_int_equal(sim_next(w->engine), 105);
    sim_advance(w->engine, 104);
    NOTHING(w);
    sim_advance(w->engine, 105);
    EXPECT(w, "105 started a 0.1", "105 started a 1.1");
    assert_int_equal(sim_alive(w->engine), 2);
    sim_advance(w->engine, 1000);
    EXPECT(w, "155 ended a 0.1 code 0 by itself", "155 ended a 1.1 code 0 by itself");
    assert_int_equal(sim_alive(w->engine), 0);
    assert_int_equal(w->over, 2);
    assert_int_equal(w->last_started, 105);
    assert_ptr_equal(w->last_held, &mine);
    stop(w, 7, NULL, STOP_GRACE);
    NOTHING(w);
    sim_advance(w->engine, 1000);
    EXPECT(w, "1000 released a");
    stop(w, 7, NULL, STOP_GRACE);
    assert_int_equal(sim_next(w->engine), UINT64_MAX);
}

static void test_exit_code(void **state)
{
    struct world *w = *state;
    w->next.code = 3;
    start(w,
          (struct want){ .job = 1, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a" });
    sim_advance(w->engine, 200);
    EXPECT(w, "105 started a 0.1", "155 ended a 0.1 code 3 by itself");
}

static void test_repeats(void **state)
{
    struct world *w = *state;
    const struct want one = {
        .job = 1, .generation = 1, .seq = 2, .n = 1, .attempt = 1, .node = "a"
    };
    start(w, one);
    start(w, one);
    sim_advance(w->engine, 110);
    EXPECT(w, "105 started a 0.1");
    start(w, one);
    sim_advance(w->engine, 155);
    EXPECT(w, "155 ended a 0.1 code 0 by itself");
    start(w, one); /* ended: not begun again */
    sim_advance(w->engine, 300);
    NOTHING(w);
    start(w,
          (struct want){ .job = 1, .generation = 1, .seq = 3, .n = 1, .attempt = 2, .node = "a" });
    sim_advance(w->engine, 306);
    EXPECT(w, "305 started a 0.2");
    assert_int_equal(sim_alive(w->engine), 1);
}

static void test_stop_one(void **state)
{
    struct world *w = *state;
    const struct task_ref second = { .index = 1 };
    start(w,
          (struct want){ .job = 1, .generation = 1, .seq = 1, .n = 2, .attempt = 1, .node = "a" });
    sim_advance(w->engine, 110);
    vec_clear(&w->said);
    stop(w, 1, &second, STOP_GRACE);
    sim_advance(w->engine, 110);
    EXPECT(w, "110 ended a 1.1 signal 15 by user");
    sim_advance(w->engine, 155);
    EXPECT(w, "155 ended a 0.1 code 0 by itself"); /* and its node is kept */
}

static void test_grace(void **state)
{
    struct world *w = *state;
    const struct want two = {
        .job = 1, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a"
    };
    w->next.run_ms = 1000;
    w->next.stop_ms = 500; /* longer than the grace of 20 */
    start(w, two);
    sim_advance(w->engine, 110);
    vec_clear(&w->said);
    stop(w, 1, NULL, STOP_GRACE);
    stop(w, 1, NULL, STOP_GRACE); /* said twice, done once */
    sim_advance(w->engine, 129);
    NOTHING(w);
    sim_advance(w->engine, 130);
    EXPECT(w, "130 ended a 0.1 signal 15 by user", "130 released a");
}

static void test_stop_now(void **state)
{
    struct world *w = *state;
    w->next.run_ms = 1000;
    w->next.stop_ms = 500;
    start(w,
          (struct want){ .job = 1, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a" });
    sim_advance(w->engine, 110);
    vec_clear(&w->said);
    stop(w, 1, NULL, STOP_GRACE);
    sim_advance(w->engine, 115);
    stop(w, 1, NULL, STOP_NOW);
    sim_advance(w->engine, 115);
    EXPECT(w, "115 ended a 0.1 signal 15 by user", "115 released a");
    sim_advance(w->engine, 5000);
    NOTHING(w);
}

static void test_stop_before_it_starts(void **state)
{
    struct world *w = *state;
    start(w,
          (struct want){ .job = 1, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a" });
    stop(w, 1, NULL, STOP_GRACE);
    sim_advance(w->engine, 200);
    EXPECT(w, "100 ended a 0.1 signal 15 by user", "100 released a");
    assert_int_equal(w->last_started, 0);
}

static void test_lost_node(void **state)
{
    struct world *w = *state;
    start(w,
          (struct want){ .job = 2, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a" });
    start(w,
          (struct want){ .job = 1, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a" });
    start(w,
          (struct want){
              .job = 1, .generation = 1, .seq = 1, .first = 1, .n = 1, .attempt = 1, .node = "b" });
    sim_advance(w->engine, 110);
    vec_clear(&w->said);
    sim_node(w->engine, "a", false);
    NOTHING(w);
    sim_advance(w->engine, 110);
    EXPECT(w, "110 down a", "110 gone a", "110 gone a");
    assert_int_equal(w->over, 2);
    assert_int_equal(sim_alive(w->engine), 1);
    assert_int_equal(
        start(w,
              (struct want){
                  .job = 3, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a" }),
        -1);
    sim_advance(w->engine, 160);
    EXPECT(w, "155 ended b 1.1 code 0 by itself");
    sim_node(w->engine, "a", true);
    sim_advance(w->engine, 160);
    EXPECT(w, "160 up a");
    assert_int_equal(
        start(w,
              (struct want){
                  .job = 3, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a" }),
        0);
}

/* A node may be left and held again by the same generation. */
static void test_back_on_a_lost_node(void **state)
{
    struct world *w = *state;
    start(w,
          (struct want){ .job = 1, .generation = 1, .seq = 1, .n = 1, .attempt = 1, .node = "a" });
    start(w,
          (struct want){
              .job = 1, .generation = 1, .seq = 1, .first = 1, .n = 1, .attempt = 1, .node = "b" });
    sim_node(w->engine, "a", false);
    sim_node(w->engine, "a", true);
    sim_advance(w->engine, 101);
    vec_clear(&w->said);
    start(w,
          (struct want){ .job = 1, .generation = 1, .seq = 2, .n = 1, .attempt = 2, .node = "a" });
    sim_advance(w->engine, 107);
    EXPECT(w, "105 started b 1.1", "106 started a 0.2");
    stop(w, 1, NULL, STOP_NOW);
    sim_advance(w->engine, 107);
    EXPECT(w, "107 ended a 0.2 signal 15 by user", "107 ended b 1.1 signal 15 by user",
           "107 released b", "107 released a");
}

static void test_generations(void **state)
{
    struct world *w = *state;
    start(w,
          (struct want){ .job = 1, .generation = 2, .seq = 1, .n = 1, .attempt = 1, .node = "a" });
    stop(w, 1, NULL, STOP_NOW); /* of generation 1: of nobody that is here */
    sim_advance(w->engine, 100);
    NOTHING(w);
    assert_int_equal(
        start(w,
              (struct want){
                  .job = 1, .generation = 3, .seq = 1, .n = 1, .attempt = 2, .node = "a" }),
        -1);
}

static void test_dues_in_order(void **state)
{
    struct dues dues = { 0 };
    uint64_t x = 1, last_at = 0, last_order = 0;
    (void)state;
    assert_null(due_first(&dues));
    for (int i = 0; i < 2000; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        due_add(&dues, (struct due){ .at_ms = (x >> 33) % 50 });
    }
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(due_first(&dues)->at_ms, dues.heap.at[0].at_ms);
        struct due due = due_take(&dues);
        assert_true(due.at_ms > last_at ||
                    (due.at_ms == last_at && (i == 0 || due.order > last_order)));
        last_at = due.at_ms;
        last_order = due.order;
    }
    assert_null(due_first(&dues));
    dues_fini(&dues);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_a_life),
        T(test_exit_code),
        T(test_repeats),
        T(test_stop_one),
        T(test_grace),
        T(test_stop_now),
        T(test_lost_node),
        T(test_stop_before_it_starts),
        T(test_generations),
        T(test_back_on_a_lost_node),
        cmocka_unit_test(test_dues_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
