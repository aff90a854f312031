/* One change of a job, or one more job: questions that are no changes are refused with what to
 * write, short forms mean what --set means, and a job that is not there yet is told what it would
 * find. */
#include "ctl/test/world.h"

#include "base/mem.h"
#include "explain/view.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct pair west[] = { { "zone", "west" } };
static struct node_spec nodes[] = {
    { .name = "n1",
      .address = "127.0.1.1",
      .host = "a",
      .cpu_milli = 8000,
      .gpus = 4,
      .gpu_type = "A100",
      .labels = { .at = west, .n = 1 } },
    { .name = "n2",
      .address = "127.0.1.2",
      .host = "b",
      .cpu_milli = 8000,
      .gpus = 4,
      .gpu_type = "H100" },
};

struct test {
    struct world world;
    struct arena *arena; /* of the answer */
    struct explain_view view;
    struct err err;
};

static int begin(void **state)
{
    struct test *t = mem_new(sizeof *t);
    t->arena = arena_create();
    world_init(&t->world);
    t->world.nodes = nodes;
    t->world.n_nodes = ARRAY_LEN(nodes);
    t->world.code_all = FAKE_RUNS;
    world_crash(&t->world);
    *state = t;
    return 0;
}

static int end(void **state)
{
    struct test *t = *state;
    world_fini(&t->world);
    arena_destroy(t->arena);
    free(t);
    return 0;
}

static uint64_t submit(struct test *t, const char *text)
{
    uint64_t id = world_submit(&t->world, text);
    if (!id)
        fail_msg("%s", t->world.what);
    world_run(&t->world);
    return id;
}

/* Six of eight devices are in use; the second job waits for four. */
static uint64_t submit_both(struct test *t)
{
    submit(t, "{\"name\":\"a\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":3,\"resources\":"
              "{\"gpu\":2}}}}");
    return submit(t, "{\"name\":\"b\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":2,\"resources\":"
                     "{\"gpu\":2,\"cpu\":1}}}}");
}

static int ask_all(struct test *t, uint64_t job, const char *const *changes, size_t n)
{
    arena_reset(t->arena);
    const struct explain_ask question = { .arena = t->arena,
                                          .owner = "ada",
                                          .job = job,
                                          .changes = { .at = (const char **)(uintptr_t)changes,
                                                       .n = n } };
    return explain_job(t->world.ctl, &question, &t->view, &t->err);
}

static int ask(struct test *t, uint64_t job, const char *change)
{
    return ask_all(t, job, &change, 1);
}

static void means(struct test *t, uint64_t job, const char *change, const char *set)
{
    if (ask(t, job, change))
        fail_msg("%s: %s", change, t->err.what);
    assert_int_equal(t->view.changes.n, 1);
    assert_string_equal(t->view.changes.at[0], set);
}

/* ---- questions ---- */

static void short_forms(void **state)
{
    struct test *t = *state;
    uint64_t job = submit_both(t);
    means(t, job, "replicas=1", "roles.w.replicas=1");
    means(t, job, "gpu=1", "roles.w.resources.gpu=1");
    means(t, job, "cpu=2", "roles.w.resources.cpu=2");
    means(t, job, "memory=2Gi", "roles.w.resources.memory=2Gi");
    means(t, job, "resources.gpu=1", "roles.w.resources.gpu=1");
    means(t, job, "topology=none", "place.topology={}");
    means(t, job, "labels=none", "place.labels={}");
    means(t, job, "nodes=none", "place.nodes=[]");
    means(t, job, "apart=none", "place.apart=[]");
    means(t, job, "run_time=20m", "limits.run_time=20m");
    means(t, job, "gpu_type=H100", "roles.w.resources.gpu_type=H100");
    means(t, job, "priority=9", "priority=9");
    means(t, job, "place.nodes=[n1]", "place.nodes=[n1]");
}

static void what_is_no_change(void **state)
{
    static const char *const wrong[] = { "replicas", "", "=2" };
    struct test *t = *state;
    uint64_t job = submit_both(t);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char wanted[100];
        assert_int_equal(ask(t, job, wrong[i]), -1);
        assert_int_equal(t->err.code, ERR_INPUT);
        snprintf(wanted, sizeof wanted, "what-if \"%s\" is not FIELD=VALUE", wrong[i]);
        assert_string_equal(t->err.what, wanted);
        assert_true(*t->err.hint != '\0');
    }
    assert_int_equal(ask(t, job, "colour=red"), -1);
    assert_int_equal(t->err.code, ERR_INPUT);
    assert_non_null(strstr(t->err.what, "colour"));
    assert_int_equal(ask(t, job, "replicas=many"), -1);
    assert_int_equal(t->err.code, ERR_INPUT);
    assert_int_equal(ask(t, job, "priority=10"), -1);
}

/* One question is one job: two values of one field would be two. */
static void changes_that_contradict_each_other(void **state)
{
    struct test *t = *state;
    uint64_t job = submit_both(t);
    const char *same[] = { "replicas=1", "replicas=2" };
    const char *long_form[] = { "gpu=1", "roles.w.resources.gpu=2" };
    const char *part[] = { "place={}", "labels=none" };
    const char *both[] = { "replicas=1", "gpu=1" };
    const char *alike[] = { "place.node_count=1", "place.nodes=[n1]" };
    assert_int_equal(ask_all(t, job, same, 2), -1);
    assert_string_equal(t->err.what,
                        "what-if roles.w.replicas=1 and roles.w.replicas=2 contradict each other");
    assert_int_equal(ask_all(t, job, long_form, 2), -1);
    assert_int_equal(ask_all(t, job, part, 2), -1);
    assert_int_equal(ask_all(t, job, both, 2), 0);
    assert_int_equal(t->view.changes.n, 2);
    assert_true(t->view.would_start);
    if (ask_all(t, job, alike, 2)) /* refused for the field, not for the likeness of names */
        assert_null(strstr(t->err.what, "contradict"));
}

static void what_it_would_do(void **state)
{
    struct test *t = *state;
    uint64_t job = submit_both(t), events = ctl_last_event(t->world.ctl);
    assert_int_equal(ask(t, job, "replicas=1"), 0);
    assert_true(t->view.would_start && t->view.in_its_place);
    assert_int_equal(t->view.places.n, 1);
    assert_null(t->view.why);
    assert_null(t->view.never);
    assert_int_equal(ask(t, job, "gpu=4"), 0); /* more than before: it waits for more */
    assert_false(t->view.would_start);
    assert_string_equal(t->view.why, "resource");
    assert_int_equal(ask(t, job, "gpu_type=A100"), 0);
    assert_false(t->view.would_start);
    assert_int_equal(ask(t, job, "gpu=5"), 0); /* no node has so many, whatever ends */
    assert_non_null(t->view.never);
    assert_int_equal(world_state(&t->world, job), JOB_QUEUED);
    assert_int_equal(ctl_last_event(t->world.ctl), events);
}

/* A type is one for all roles that ask for devices, and for no other. */
static void a_type_is_of_all_roles_with_devices(void **state)
{
    struct test *t = *state;
    submit_both(t);
    uint64_t job = submit(t, "{\"name\":\"c\",\"roles\":{"
                             "\"ps\":{\"run\":\"x\",\"resources\":{\"cpu\":1}},"
                             "\"w\":{\"run\":\"x\",\"resources\":{\"gpu\":2}},"
                             "\"v\":{\"run\":\"x\",\"resources\":{\"gpu\":2}}}}");
    assert_int_equal(ask(t, job, "gpu_type=H100"), 0);
    assert_int_equal(t->view.changes.n, 2);
    assert_string_equal(t->view.changes.at[0], "roles.w.resources.gpu_type=H100");
    assert_string_equal(t->view.changes.at[1], "roles.v.resources.gpu_type=H100");
    assert_int_equal(ask(t, job, "replicas=1"), -1); /* of which role? */
    assert_int_equal(t->err.code, ERR_INPUT);
}

/* ---- one more job ---- */

static const struct job_spec *read_job(struct test *t, const char *text)
{
    struct report report;
    arena_reset(t->arena);
    report_init(&report, t->arena);
    struct text_node *tree = json_parse(t->arena, text, strlen(text), 0, &report);
    const struct job_spec *spec = tree ? job_decode(t->arena, tree, &report) : NULL;
    if (!spec || !report_ok(&report))
        fail_msg("%s", report.at[0].what);
    return spec;
}

static void draft(struct test *t, const char *resources, bool with_ways)
{
    char text[300];
    snprintf(text, sizeof text,
             "{\"name\":\"new\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":%s}}}", resources);
    const struct draft_job new = { .arena = t->arena,
                                   .owner = "ada",
                                   .spec = read_job(t, text),
                                   .file = "new.yaml",
                                   .with_ways = with_ways };
    explain_newcomer(t->world.ctl, &new, &t->view);
}

static void a_job_that_would_start(void **state)
{
    struct test *t = *state;
    submit_both(t);
    uint64_t events = ctl_last_event(t->world.ctl);
    draft(t, "{\"cpu\":1}", true);
    assert_true(t->view.would_start);
    assert_int_equal(t->view.job, 0);
    assert_int_equal(t->view.state, JOB_QUEUED);
    assert_string_equal(t->view.name, "new");
    assert_string_equal(t->view.queue, "default");
    assert_string_equal(t->view.file, "new.yaml");
    assert_false(t->view.in_its_place);
    assert_int_equal(t->view.places.n, 1);
    assert_string_equal(t->view.places.at[0].name, "w/0");
    assert_int_equal(t->view.ways.n, 0);
    assert_int_equal(ctl_last_event(t->world.ctl), events);
}

static void a_job_that_would_wait(void **state)
{
    struct test *t = *state;
    submit_both(t);
    draft(t, "{\"gpu\":4}", false);
    assert_false(t->view.would_start);
    assert_non_null(t->view.why);
    assert_int_equal(t->view.ways.n, 0); /* nobody asked */
    draft(t, "{\"gpu\":16}", true);
    assert_non_null(t->view.never);
}

static void a_job_after_another_one(void **state)
{
    struct test *t = *state;
    uint64_t first = submit_both(t) - 1;
    char text[300];
    snprintf(text, sizeof text,
             "{\"name\":\"new\",\"roles\":{\"w\":{\"run\":\"x\"}},\"after\":[\"%llu\"]}",
             (unsigned long long)first);
    const struct draft_job new = {
        .arena = t->arena, .owner = "ada", .spec = read_job(t, text), .with_ways = true
    };
    explain_newcomer(t->world.ctl, &new, &t->view);
    assert_string_equal(t->view.why, "after");
    assert_false(t->view.would_start);
    assert_int_equal(t->view.ways.n, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(short_forms),
        CASE(what_is_no_change),
        CASE(changes_that_contradict_each_other),
        CASE(what_it_would_do),
        CASE(a_type_is_of_all_roles_with_devices),
        CASE(a_job_that_would_start),
        CASE(a_job_that_would_wait),
        CASE(a_job_after_another_one),
    };
    return cmocka_run_group_tests_name("explain/what_if", tests, NULL, NULL);
}
