/* What would start a waiting job: for each kind of obstacle the change that removes it is among the
 * ways, and the job that is submitted with it in the place of the first one does start. */
#include "ctl/test/world.h"

#include "base/mem.h"
#include "explain/view.h"
#include "job/catalogue.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct pair west[] = { { "zone", "west" } }, east[] = { { "zone", "east" } };
static struct node_spec nodes[] = {
    { .name = "n1",
      .address = "127.0.1.1",
      .host = "a",
      .cpu_milli = 8000,
      .memory = UINT64_C(16) << 30,
      .gpus = 4,
      .gpu_type = "A100",
      .labels = { .at = west, .n = 1 } },
    { .name = "n2",
      .address = "127.0.1.2",
      .host = "b",
      .cpu_milli = 8000,
      .memory = UINT64_C(16) << 30,
      .gpus = 4,
      .gpu_type = "H100",
      .labels = { .at = east, .n = 1 } },
};

/* A share of the cluster below another one, and a queue without a bound. */
static const char queues[] = "[{\"name\":\"org\",\"maximum\":{\"gpu\":6}},"
                             "{\"name\":\"small\",\"parent\":\"org\",\"maximum\":{\"gpu\":4}},"
                             "{\"name\":\"own\",\"user\":{\"gpu\":2}}]";

struct test {
    struct world world;
    struct arena *arena; /* of the settings */
    struct arena *answer;
    struct explain_view view;
};

static void with_queues(struct world *w, struct ctl_config *config)
{
    struct test *t = w->hooked;
    struct report report;
    struct entry *at;
    report_init(&report, t->arena);
    struct text_node *list = json_parse(t->arena, queues, strlen(queues), 0, &report);
    assert_non_null(list);
    if (entries_decode_queues(t->arena, list, &at, &config->n_declared, &report))
        fail_msg("%s", report.at[0].what);
    config->declared = at;
}

static int begin(void **state)
{
    struct test *t = mem_new(sizeof *t);
    struct world *w = &t->world;
    t->arena = arena_create();
    t->answer = arena_create();
    world_init_with(w, (struct world_hooks){ .before = with_queues }, t);
    w->nodes = nodes;
    w->n_nodes = ARRAY_LEN(nodes);
    w->code_all = FAKE_RUNS;
    world_crash(w);
    *state = t;
    return 0;
}

static int end(void **state)
{
    struct test *t = *state;
    world_fini(&t->world);
    arena_destroy(t->answer);
    arena_destroy(t->arena);
    free(t);
    return 0;
}

/* A job of one role; rest: further members, with a comma in front. */
static uint64_t submit(struct test *t, const char *role, const char *rest)
{
    char text[600];
    static unsigned number;
    snprintf(text, sizeof text, "{\"name\":\"job%u\",\"roles\":{\"w\":{\"run\":\"x\",%s}}%s}",
             ++number, role, rest);
    uint64_t id = world_submit(&t->world, text);
    if (!id)
        fail_msg("%s: %s", text, t->world.what);
    world_run(&t->world);
    return id;
}

static void runs(struct test *t, uint64_t job)
{
    if (world_state(&t->world, job) != JOB_RUNNING)
        fail_msg("job %u does not run: %s", (unsigned)job, world_reason(&t->world, job));
}

static void ask(struct test *t, uint64_t job)
{
    struct err err;
    arena_reset(t->answer);
    const struct explain_ask question = { .arena = t->answer, .owner = "ada", .job = job };
    if (explain_job(t->world.ctl, &question, &t->view, &err))
        fail_msg("%s", err.what);
}

static const struct change_view *way(const struct test *t, enum change_kind kind)
{
    for (size_t i = 0; i < t->view.ways.n; i++)
        if (t->view.ways.at[i].kind == kind)
            return &t->view.ways.at[i];
    return NULL;
}

/* The way is shown as `set`, and does what it says: on the places that it names. */
static void helps(struct test *t, uint64_t job, enum change_kind kind, const char *set)
{
    struct world *w = &t->world;
    ask(t, job);
    const struct change_view *found = way(t, kind);
    if (!found)
        fail_msg("%s is not among %zu ways of: %s", way_word(kind), t->view.ways.n, t->view.reason);
    assert_string_equal(found->set, set);
    assert_true(found->places.n > 0);
    struct submission again = { .owner = "ada", .like = job, .replace = true, .sets = found->sets };
    uint64_t used = world_used(w), other = world_submit_as(w, &again);
    if (!other)
        fail_msg("%s: %s", set, w->what);
    world_run(w);
    runs(t, other);
    assert_int_equal(world_state(w, job), JOB_STOPPED);
    assert_true(world_used(w) >= used + found->gpu_milli);
    ask(t, other);
    assert_int_equal(t->view.ways.n, 0); /* nothing is left to be changed */
}

/* ---- what a task asks for ---- */

static void fewer_devices(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"replicas\":3,\"resources\":{\"gpu\":2}", ""));
    uint64_t job = submit(t, "\"resources\":{\"gpu\":4}", "");
    helps(t, job, CHANGE_GPU, "gpu=2"); /* no less than is needed */
}

static void fewer_cores(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"replicas\":2,\"resources\":{\"cpu\":5}", ""));
    uint64_t job = submit(t, "\"resources\":{\"cpu\":6}", "");
    helps(t, job, CHANGE_CPU, "cpu=3");
}

static void less_memory(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"replicas\":2,\"resources\":{\"memory\":\"12Gi\"}", ""));
    uint64_t job = submit(t, "\"resources\":{\"memory\":\"8Gi\"}", "");
    helps(t, job, CHANGE_MEMORY, "memory=4Gi");
}

static void fewer_tasks(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"resources\":{\"gpu\":4}", ""));
    uint64_t job = submit(t, "\"replicas\":4,\"resources\":{\"gpu\":2}", "");
    helps(t, job, CHANGE_REPLICAS, "replicas=2");
}

/* Of a role that can grow it is the least that it starts with. */
static void a_smaller_minimum(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"resources\":{\"gpu\":4}", ""));
    uint64_t job = submit(t, "\"replicas\":{\"min\":3,\"max\":4},\"resources\":{\"gpu\":2}", "");
    helps(t, job, CHANGE_MIN, "w.min=2");
}

/* ---- where ---- */

static void another_model(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"resources\":{\"gpu\":4,\"gpu_type\":\"A100\"}", ""));
    uint64_t job = submit(t, "\"resources\":{\"gpu\":2,\"gpu_type\":\"A100\"}", "");
    helps(t, job, CHANGE_GPU_TYPE, "gpu_type=H100");
}

static void other_labels(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"resources\":{\"cpu\":8}", ",\"place\":{\"labels\":{\"zone\":\"west\"}}"));
    uint64_t job =
        submit(t, "\"resources\":{\"cpu\":8}", ",\"place\":{\"labels\":{\"zone\":\"west\"}}");
    helps(t, job, CHANGE_LABELS, "labels=none");
}

static void other_nodes(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"resources\":{\"cpu\":8}", ",\"place\":{\"nodes\":[\"n2\"]}"));
    uint64_t job = submit(t, "\"resources\":{\"cpu\":8}", ",\"place\":{\"nodes\":[\"n2\"]}");
    helps(t, job, CHANGE_NODES, "nodes=none");
}

/* ---- whose ---- */

static void another_queue(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"resources\":{\"gpu\":4}", ",\"queue\":\"small\""));
    uint64_t job = submit(t, "\"resources\":{\"gpu\":2}", ",\"queue\":\"small\"");
    ask(t, job);
    assert_string_equal(t->view.why, "quota");
    helps(t, job, CHANGE_QUEUE, "queue=default");
}

/* The room is promised to a large job; who ranks before it may have it, and so may who is gone by
 * then. */
static void before_a_promise(struct test *t, enum change_kind kind, const char *set, bool keeps)
{
    runs(t, submit(t, "\"replicas\":3,\"resources\":{\"gpu\":2}",
                   ",\"limits\":{\"run_time\":\"10m\"}"));
    uint64_t large = submit(t, "\"replicas\":2,\"resources\":{\"gpu\":4}", "");
    uint64_t job = submit(t, "\"resources\":{\"gpu\":2}", "");
    ask(t, job);
    assert_string_equal(t->view.why, "reserved");
    ask(t, large);
    uint64_t promised_ms = t->view.expected_ms;
    helps(t, job, kind, set);
    assert_int_equal(world_state(&t->world, large), JOB_QUEUED);
    ask(t, large);
    assert_int_equal(t->view.expected_ms == promised_ms, keeps);
}

static void a_higher_rank(void **state)
{
    before_a_promise(*state, CHANGE_PRIORITY, "priority=6", false);
}

static void a_shorter_run_time(void **state)
{
    before_a_promise(*state, CHANGE_RUN_TIME, "run_time=10m", true);
}

/* ---- when there is nothing to change ---- */

static void a_full_cluster_has_no_way(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"replicas\":2,\"resources\":{\"cpu\":8,\"gpu\":4}", ""));
    uint64_t job = submit(t, "\"resources\":{\"cpu\":1,\"gpu\":1}", "");
    ask(t, job);
    assert_string_equal(t->view.why, "resource");
    assert_int_equal(t->view.ways.n, 0);
    assert_null(t->view.never); /* it waits for an end, and that will come */
}

static void a_suspended_job_is_resumed(void **state)
{
    struct test *t = *state;
    uint64_t job = submit(t, "\"resources\":{\"gpu\":2}", ",\"suspend\":true");
    ask(t, job);
    assert_int_equal(t->view.state, JOB_SUSPENDED);
    assert_int_equal(t->view.ways.n, 1);
    const struct change_view *resume = way(t, CHANGE_RESUME);
    assert_non_null(resume);
    assert_null(resume->set);
    assert_true(resume->at_once);
    world_command(&t->world, job, CTL_RESUME);
    world_run(&t->world);
    runs(t, job);
}

/* The smallest change first, and no more than anybody reads. */
static void they_stand_in_order(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"replicas\":2,\"resources\":{\"gpu\":3,\"cpu\":5}", ""));
    uint64_t job = submit(t, "\"replicas\":3,\"resources\":{\"gpu\":1,\"cpu\":2}",
                          ",\"place\":{\"labels\":{\"zone\":\"west\"}}");
    ask(t, job);
    assert_true(t->view.ways.n >= 1 && t->view.ways.n <= 5);
    const struct change_view *fewer = way(t, CHANGE_REPLICAS);
    assert_non_null(fewer);
    assert_string_equal(fewer->set, "replicas=1");
    for (size_t i = 0; i < t->view.ways.n; i++) /* without its label two of three would fit */
        assert_true(t->view.ways.at[i].kind != CHANGE_LABELS);
}

/* ---- shares ---- */

static void limits_are_checked_as_if_it_held_all(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"resources\":{\"gpu\":4}", ",\"queue\":\"small\""));
    ask(t, submit(t, "\"resources\":{\"gpu\":2,\"cpu\":1}", ",\"queue\":\"small\""));
    const struct limit_check *limits = t->view.checks->limits;
    assert_true(limits[CHECK_QUEUE].exceeded && limits[CHECK_QUEUE].gpu);
    assert_false(limits[CHECK_QUEUE].cpu || limits[CHECK_QUEUE].memory);
    assert_int_equal(limits[CHECK_QUEUE].used.gpu_milli, 4000);
    assert_int_equal(limits[CHECK_QUEUE].limit.gpu_milli, 4000);
    assert_string_equal(limits[CHECK_ABOVE].queue, "org");
    assert_false(limits[CHECK_ABOVE].exceeded); /* six of six */
    assert_int_equal(limits[CHECK_ABOVE].used.gpu_milli, 4000);
    assert_false(limits[CHECK_USER].exceeded);
    assert_true(limits[CHECK_USER].limit.gpu_milli == UINT64_MAX);
    ask(t, submit(t, "\"resources\":{\"gpu\":3}", ",\"queue\":\"small\""));
    assert_true(t->view.checks->limits[CHECK_ABOVE].exceeded);
    assert_true(t->view.checks->limits[CHECK_ABOVE].gpu);
}

static void a_users_own_part(void **state)
{
    struct test *t = *state;
    runs(t, submit(t, "\"resources\":{\"gpu\":2}", ",\"queue\":\"own\""));
    uint64_t job = submit(t, "\"resources\":{\"gpu\":1}", ",\"queue\":\"own\"");
    ask(t, job);
    assert_string_equal(t->view.why, "user");
    assert_true(t->view.checks->limits[CHECK_USER].exceeded);
    assert_false(t->view.checks->limits[CHECK_QUEUE].exceeded);
    assert_null(t->view.checks->limits[CHECK_ABOVE].queue);
    helps(t, job, CHANGE_QUEUE, "queue=default");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(fewer_devices),
        CASE(fewer_cores),
        CASE(less_memory),
        CASE(fewer_tasks),
        CASE(a_smaller_minimum),
        CASE(another_model),
        CASE(other_labels),
        CASE(other_nodes),
        CASE(another_queue),
        CASE(a_higher_rank),
        CASE(a_shorter_run_time),
        CASE(a_full_cluster_has_no_way),
        CASE(a_suspended_job_is_resumed),
        CASE(they_stand_in_order),
        CASE(limits_are_checked_as_if_it_held_all),
        CASE(a_users_own_part),
    };
    return cmocka_run_group_tests_name("explain/ways", tests, NULL, NULL);
}
