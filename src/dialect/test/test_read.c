/* From text to job: choosing the dialect, what the command line changes, and what is said when
 * something is wrong. */
#include "dialect/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Two plain dialects: one is the canonical tree, the other a list of commands that leaves the job
 * unchecked. */
static int detect_tree(const struct text_node *root)
{
    return text_get(root, "name") ? 50 : 0;
}
static struct job_spec *read_tree(struct arena *arena, const struct text_node *root,
                                  const struct site *site, struct report *report)
{
    (void)site;
    return job_decode(arena, root, report);
}

static int detect_list(const struct text_node *root)
{
    return root->kind == TEXT_LIST ? 90 : 0;
}
static struct job_spec *read_list(struct arena *arena, const struct text_node *root,
                                  const struct site *site, struct report *report)
{
    (void)report;
    struct job_spec *job = job_new(arena);
    job->name = site->owner;
    job->roles = ARENA_ARRAY(arena, root->count, struct role);
    for (const struct text_node *item = root->first; item; item = item->next) {
        struct role *role = &job->roles[job->n_roles++];
        role_init(role);
        role->name = arena_printf(arena, "r%zu", job->n_roles);
        role->run = *item->str ? item->str : NULL;
        role->place = item->place;
    }
    return job;
}

static const struct dialect tree = { .name = "tree-v1",
                                     .title = "tree v1",
                                     .looks_for = "a name",
                                     .detect = detect_tree,
                                     .read = read_tree };
static const struct dialect list = {
    .name = "list", .title = "list", .detect = detect_list, .read = read_list
};
static const struct convention native = { .name = "native" };
static const struct dialect *const dialects[] = { &tree, &list };
static const struct convention *const conventions[] = { &native };
static const struct dialects all = { dialects, 2, conventions, 1, &native };
static const struct site site = { .owner = "ada" };

struct bench {
    struct arena *arena;
    struct report report;
    struct dialect_request request;
    struct dialect_result result;
};

static int try(struct bench *b, const char *text)
{
    if (!b->arena)
        b->arena = arena_create();
    report_init(&b->report, b->arena);
    b->request.text = text;
    b->request.len = strlen(text);
    b->request.site = &site;
    int rc = dialect_read(&all, b->arena, &b->request, &b->result, &b->report);
    assert_int_equal(rc == 0, b->result.job != NULL);
    assert_int_equal(rc == 0, report_ok(&b->report));
    return rc;
}

static void test_detected(void **state)
{
    (void)state;
    struct bench b = { 0 };
    assert_int_equal(try(&b, "name: x\nrun: y\n"), 0);
    assert_ptr_equal(b.result.dialect, &tree);
    assert_int_equal(try(&b, "[\"a\", \"b\"]"), 0);
    assert_ptr_equal(b.result.dialect, &list);
    assert_int_equal(b.result.job->n_roles, 2);
    assert_string_equal(b.result.job->name, "ada");
    arena_destroy(b.arena);
}

static void test_named(void **state)
{
    (void)state;
    struct bench b = { .request = { .from = "tree" } };
    assert_int_equal(try(&b, "[\"a\"]"), -1);
    assert_string_equal(b.report.at[0].what, "a job is a map, this is a list");
    b.request.from = "tre-v1";
    assert_int_equal(try(&b, "name: x\nrun: y\n"), -1);
    assert_string_equal(b.report.at[0].what, "--from tre-v1: no such dialect");
    assert_string_equal(b.report.at[0].hint, "tree-v1");
    b.request.from = "zzzzzzzzzz";
    assert_int_equal(try(&b, "name: x\nrun: y\n"), -1);
    assert_string_equal(b.report.at[0].hint, "tree-v1, list");
    arena_destroy(b.arena);
}

static void test_nobodys_text(void **state)
{
    (void)state;
    struct bench b = { 0 };
    assert_int_equal(try(&b, "{\"what\": 1}"), -1);
    assert_string_equal(b.report.at[0].what, "no dialect knows this text");
    assert_string_equal(b.report.at[0].hint, "tree v1 has a name; list; or name one with --from");
    assert_null(b.result.dialect);
    assert_int_equal(try(&b, ""), -1);
    assert_int_equal(try(&b, "{\"name\": "), -1);
    assert_true(b.report.at[0].place.line > 0);
    arena_destroy(b.arena);
}

static void test_overrides(void **state)
{
    (void)state;
    const char *sets[] = { "roles.r2.replicas=3", "limits.run_time=2h", "conventions=[native]" };
    struct bench b = { .request = { .name = "other", .queue = "fast", .sets = { sets, 3 } } };
    b.arena = arena_create();
    pairs_set(&b.request.env, b.arena, "A", "1");
    assert_int_equal(try(&b, "- one\n- two\n"), 0);
    const struct job_spec *job = b.result.job;
    assert_string_equal(job->name, "other");
    assert_string_equal(job->queue, "fast");
    assert_int_equal(job->roles[1].replicas, 3);
    assert_int_equal(job->limits.run_time_ms.value, 7200000);
    assert_string_equal(pairs_get(&job->roles[0].env, "A"), "1");
    assert_string_equal(pairs_get(&job->roles[1].env, "A"), "1");
    assert_int_equal(job->roles[1].place.line, 2);
    arena_destroy(b.arena);
}

static void test_env_override_wins(void **state)
{
    (void)state;
    struct bench b = { 0 };
    b.arena = arena_create();
    pairs_set(&b.request.env, b.arena, "A", "64");
    assert_int_equal(try(&b, "name: x\nrun: y\nenv: {A: 1, B: 2}\n"), 0);
    assert_string_equal(pairs_get(&b.result.job->roles[0].env, "A"), "64");
    assert_string_equal(pairs_get(&b.result.job->roles[0].env, "B"), "2");
    arena_destroy(b.arena);
}

static void test_bad_overrides(void **state)
{
    (void)state;
    static const struct {
        const char *set, *what;
    } rows[] = {
        { "replica=3", "unknown field \"replica\"" },
        { "roles.worker.replicas=0", "roles.worker.replicas is 0, the least is 1" },
        { "replicas", "--set replicas is not NAME=VALUE" },
        { "roles.worker.resources.gpu=1.5",
          "roles.worker.resources.gpu is 1.500: more than one device is given whole" },
        { "conventions=[nativ]", "conventions[0] is \"nativ\", and no such convention is known" },
    };
    struct bench b = { 0 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        b.request.sets = (struct words){ (const char **)(uintptr_t)&rows[i].set, 1 };
        assert_int_equal(try(&b, "name: x\nrun: y\n"), -1);
        assert_string_equal(b.report.at[0].what, rows[i].what);
    }
    arena_destroy(b.arena);
}

/* Those of the text itself are said once. */
static void test_warnings_of_overrides(void **state)
{
    (void)state;
    const char *sets[] = { "runtime=bwrap", "runtime=podman" };
    struct bench b = { .request = { .sets = { sets, 1 } } };
    b.arena = arena_create();
    assert_int_equal(try(&b, "name: x\nrun: y\n"), 0);
    assert_int_equal(b.report.warnings, 1);
    assert_string_equal(b.report.at[0].what, "runtime has no effect: no role has an image");
    b.request.sets.at++;
    assert_int_equal(try(&b, "name: x\nrun: y\nruntime: bwrap\n"), 0);
    assert_int_equal(b.report.warnings, 1);
    assert_int_equal(b.report.at[0].place.line, 3);
    arena_destroy(b.arena);
}

/* Only who asks for them gets several documents. */
static void test_documents(void **state)
{
    static const char text[] = "name: a\nrun: x\n---\nname: b\nrun: y\n";
    struct bench b = { .arena = NULL };
    (void)state;
    assert_int_equal(try(&b, text), -1);
    assert_string_equal(b.report.at[0].what, "a second document begins here");
    assert_int_equal(b.report.at[0].place.line, 4);
    b.request.from = "tree-v1";
    assert_int_equal(try(&b, text), -1);
    assert_string_equal(b.report.at[0].what, "a second document begins here");
    arena_destroy(b.arena);
}

static void test_unchecked_job_is_caught(void **state)
{
    (void)state;
    struct bench b = { 0 };
    assert_int_equal(try(&b, "- one\n- \"\"\n"), -1);
    assert_string_equal(b.report.at[0].what, "roles.r2 says nothing to run");
    assert_int_equal(b.report.at[0].place.line, 2);
    assert_true(b.report.at[0].of_job);
    assert_int_equal(try(&b, "{\"name\": \"x\", \"nme\": 1}"), -1);
    assert_false(b.report.at[0].of_job);
    arena_destroy(b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detected),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_nobodys_text),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_env_override_wins),
        cmocka_unit_test(test_bad_overrides),
        cmocka_unit_test(test_warnings_of_overrides),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_unchecked_job_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
