/* Losses, with a dialect that forgets: every field that differs after writing and reading is told,
 * once, and none that the writer has told itself. */
#include "dialect/losses.h"

#include "dialect/roles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Knows the name, and of roles the number and the command; everybody's priority is 9. */
static struct text_node *forget(struct arena *a, const struct job_spec *job, struct report *report)
{
    struct text_node *root = text_map(a, NULL, NULL), *roles;
    (void)report;
    text_str(a, root, "name", job->name);
    text_int(a, root, "priority", 9);
    roles = text_map(a, root, "roles");
    for (size_t i = 0; i < job->n_roles; i++) {
        struct text_node *role = text_map(a, roles, job->roles[i].name);
        text_int(a, role, "replicas", job->roles[i].replicas);
        text_str(a, role, "run", job->roles[i].run);
    }
    return root;
}

static struct job_spec *read_native(struct arena *a, const struct text_node *root,
                                    const struct site *site, struct report *report)
{
    (void)site;
    return job_decode(a, root, report);
}

static struct job_spec *read_never(struct arena *a, const struct text_node *root,
                                   const struct site *site, struct report *report)
{
    (void)a;
    (void)site;
    report_hint(report, report_error(report, root->place, "name", "name is too short"), "a longer");
    return NULL;
}

static struct job_spec *make_job(struct arena *a)
{
    struct job_spec *job = job_new(a);
    job->name = "j";
    job->queue = "vision";
    job->limits.grace_ms = 60000;
    job->n_roles = 1;
    job->roles = ARENA_ARRAY(a, 1, struct role);
    role_init(&job->roles[0]);
    job->roles[0].name = "worker";
    job->roles[0].run = "true";
    job->roles[0].replicas = 4;
    job->roles[0].min = 2;
    pairs_set(&job->roles[0].env, a, "LR", "0.1");
    return job;
}

static bool told(const struct report *report, const char *path, const char *part)
{
    for (size_t i = 0; i < report->n; i++)
        if (strcmp(report->at[i].path, path) == 0)
            return strstr(report->at[i].what, part) != NULL;
    return false;
}

static void every_field_that_differs(void **state)
{
    struct arena *a = arena_create();
    struct dialect d = { .name = "f", .title = "F", .read = read_native, .write = forget };
    struct job_spec *job = make_job(a);
    struct report report;
    (void)state;
    report_init(&report, a);
    assert_non_null(dialect_convert(a, &d, job, NULL, &report));
    assert_int_equal(report.errors, 0);
    assert_int_equal(report.warnings, 4);
    assert_int_equal(report.notes, 1);
    assert_true(told(&report, "queue", "queue cannot be said in F and is left out (\"vision\")"));
    assert_true(told(&report, "limits", "left out"));
    assert_true(told(&report, "roles.worker.replicas", "is {\"min\":2,\"max\":4}, in F it is 4"));
    assert_true(told(&report, "roles.worker.env", "left out ({\"LR\":\"0.1\"})"));
    assert_true(told(&report, "priority", "F gives the job priority: 9"));
    arena_destroy(a);
}

static struct text_node *forget_and_tell(struct arena *a, const struct job_spec *job,
                                         struct report *report)
{
    report_warn(report, (struct place){ 0 }, "roles.worker.replicas", "roles.worker is simpler");
    report_note(report, "roles.worker.env.LR", "roles.worker.env.LR is elsewhere");
    report_note(report, "que", "que is no part of queue");
    return forget(a, job, report);
}

static void what_the_writer_said_is_not_said_again(void **state)
{
    struct arena *a = arena_create();
    struct dialect d = { .name = "f", .title = "F", .read = read_native, .write = forget_and_tell };
    struct report report;
    (void)state;
    report_init(&report, a);
    assert_non_null(dialect_convert(a, &d, make_job(a), NULL, &report));
    assert_int_equal(report.warnings, 1 + 2); /* and queue, limits */
    assert_int_equal(report.notes, 2 + 1);    /* and priority */
    assert_true(told(&report, "queue", "left out"));
    arena_destroy(a);
}

static struct job_spec *shape(struct arena *a, const struct job_spec *job, struct report *report)
{
    report_note(report, "roles.worker", "roles.worker is written as chief and worker");
    return dialect_split_role(a, job, "worker", "chief");
}

/* What the shape has told is no reason to be silent about the roles that come of it. */
static void a_shaped_job_is_compared(void **state)
{
    struct arena *a = arena_create();
    struct dialect d = {
        .name = "f", .title = "F", .read = read_native, .shape = shape, .write = forget
    };
    struct report report;
    struct job_spec *job = make_job(a);
    job->n_gangs = 1;
    job->gangs = ARENA_ARRAY(a, 1, struct gang);
    job->gangs[0] = (struct gang){ .roles = { .at = &(const char *){ "worker" }, .n = 1 } };
    (void)state;
    report_init(&report, a);
    const struct text_node *tree = dialect_convert(a, &d, job, NULL, &report);
    assert_non_null(text_get(text_get(tree, "roles"), "chief"));
    assert_int_equal(text_get(text_get(text_get(tree, "roles"), "worker"), "replicas")->integer, 3);
    assert_true(told(&report, "roles.worker.env", "left out"));
    assert_true(told(&report, "roles.chief.env", "left out"));
    assert_true(told(&report, "gang", "[\"chief\",\"worker\"]"));
    arena_destroy(a);
}

static struct text_node *write_origin(struct arena *a, const struct job_spec *job,
                                      struct report *report)
{
    struct text_node *root = job_encode(a, job);
    (void)report;
    text_str(a, root, "conventions", "f");
    text_str(a, root, "project", "p");
    return root;
}

/* Nothing is lost by what every job of a format has. */
static void the_formats_own_is_no_loss(void **state)
{
    struct arena *a = arena_create();
    struct dialect d = { .name = "f", .title = "F", .read = read_native, .write = write_origin };
    struct report report;
    (void)state;
    report_init(&report, a);
    assert_non_null(dialect_convert(a, &d, make_job(a), NULL, &report));
    assert_int_equal(report.warnings, 0);
    assert_int_equal(report.notes, 1);
    assert_true(told(&report, "project", "F gives the job project: \"p\""));
    arena_destroy(a);
}

static void what_is_refused_is_an_error(void **state)
{
    struct arena *a = arena_create();
    struct dialect d = { .name = "f", .title = "F", .read = read_never, .write = forget };
    struct report report;
    (void)state;
    report_init(&report, a);
    assert_null(dialect_convert(a, &d, make_job(a), NULL, &report));
    assert_int_equal(report.errors, 1);
    assert_string_equal(report.at[0].what, "in F: name is too short");
    assert_string_equal(report.at[0].hint, "a longer");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_field_that_differs),
                                        cmocka_unit_test(what_the_writer_said_is_not_said_again),
                                        cmocka_unit_test(a_shaped_job_is_compared),
                                        cmocka_unit_test(the_formats_own_is_no_loss),
                                        cmocka_unit_test(what_is_refused_is_an_error) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
