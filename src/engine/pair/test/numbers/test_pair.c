/* Two engines of numbers as one: which of them a call reaches, that facts of both come up, and that
 * runs of an earlier server are found where they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "engine/pair/pair.h"

#include "engine/sim/sim.h"

#include <stdio.h>
#include <string.h>

struct fix {
    struct engine *here, *there, *both;
    unsigned facts[FACT_N];
    char last[16];
};

static struct recovery_report {
    const struct engine *there;
    size_t n;
} recovered;

static bool is_there(const struct engine *other, const char *node)
{
    (void)other;
    return node[0] == 'm';
}

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct fix *f = arg;
    f->facts[fact->kind]++;
    snprintf(f->last, sizeof f->last, "%s", fact->node);
}

static struct sim_run lasting(void *arg, const struct launch *launch,
                              const struct launch_task *task)
{
    (void)arg;
    (void)launch;
    (void)task;
    return (struct sim_run){ .run_ms = 1000 };
}

static int count_known(struct engine *e, const struct engine_agent *known, size_t n,
                       struct err *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(is_there(NULL, known[i].node), e == recovered.there);
    recovered.n += n;
    return 0;
}

static int set_up(void **state)
{
    static struct fix f;
    static struct engine_ops ops;
    const struct sim_watch watch = { .run = lasting };
    memset(&f, 0, sizeof f);
    f.here = sim_create(&watch, 0);
    f.there = sim_create(&watch, 0);
    ops = *f.here->ops;
    ops.recover = count_known;
    f.here->ops = f.there->ops = &ops;
    f.both = pair_create(&(struct pair_config){ f.here, f.there, is_there });
    f.both->sink = (struct engine_sink){ .fact = on_fact, .arg = &f };
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    f->both->ops->destroy(f->both);
    return 0;
}

static void start(struct fix *f, const char *node, uint32_t index)
{
    struct err err;
    struct launch_task task = { .ref.index = index, .attempt = 1 };
    const struct launch launch = { .generation = { .job = 1, .number = 1 },
                                   .seq = 1 + index,
                                   .node = node,
                                   .tasks = &task,
                                   .n_tasks = 1 };
    assert_int_equal(f->both->ops->start(f->both, &launch, &err), 0);
}

static void advance(struct fix *f, uint64_t ms)
{
    sim_advance(f->here, ms);
    sim_advance(f->there, ms);
}

static void each_node_has_its_engine(void **state)
{
    struct fix *f = *state;
    start(f, "n1", 0);
    start(f, "m1", 1);
    assert_int_equal(sim_alive(f->here), 1);
    assert_int_equal(sim_alive(f->there), 1);
    sim_advance(f->there, 10);
    assert_int_equal(f->facts[FACT_STARTED], 1);
    assert_string_equal(f->last, "m1");
    advance(f, 10);
    assert_int_equal(f->facts[FACT_STARTED], 2);
}

static void a_stop_reaches_both(void **state)
{
    struct fix *f = *state;
    struct err err;
    start(f, "n1", 0);
    start(f, "m1", 1);
    advance(f, 10);
    const struct generation g = { .job = 1, .number = 1 };
    assert_int_equal(f->both->ops->stop(f->both, g, NULL, STOP_NOW, BY_USER, &err), 0);
    advance(f, 100);
    assert_int_equal(f->facts[FACT_RELEASED], 2);
    assert_int_equal(sim_alive(f->here) + sim_alive(f->there), 0);
}

static void runs_are_found_again_where_they_were(void **state)
{
    struct fix *f = *state;
    struct err err;
    const struct engine_agent known[] = {
        { .node = "m1" }, { .node = "n1" }, { .node = "n2" }, { .node = "m2" }, { .node = "m3" }
    };
    recovered = (struct recovery_report){ .there = f->there };
    assert_int_equal(f->both->ops->recover(f->both, known, 5, &err), 0);
    assert_int_equal(recovered.n, 5);
    assert_int_equal(f->both->ops->recover(f->both, known, 0, &err), 0);
}

static void it_can_what_both_can(void **state)
{
    struct fix *f = *state;
    assert_int_equal(f->both->ops->caps(f->both), f->here->ops->caps(f->here));
    struct generation of;
    size_t all;
    assert_int_equal(f->both->ops->find_process(f->both, 1, &of), 0);
    assert_true(f->both->ops->room(f->both, &all) == SIZE_MAX && all == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_node_has_its_engine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stop_reaches_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_are_found_again_where_they_were, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_can_what_both_can, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("engine/pair", tests, NULL, NULL);
}
