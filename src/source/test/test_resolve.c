/* Names of the catalogue in a job: what they become, and what is said of those that it does not
 * know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "source/resolve.h"

#include "base/mem.h"

#include <string.h>

struct fix {
    struct arena *arena;
    struct catalogue *names;
    struct report report;
    struct role role;
    struct job_spec job;
};

static int setup(void **state)
{
    static struct fix f;
    f = (struct fix){ .arena = arena_create(), .names = catalogue_create() };
    static const struct entry entries[] = {
        { .kind = ENTRY_QUOTA, .name = "default" },
        { .kind = ENTRY_VIRTUAL_CLUSTER, .name = "vision" },
        { .kind = ENTRY_WORKSPACE, .name = "team", .queue = "vision" },
        { .kind = ENTRY_CODE_SOURCE, .name = "app", .uri = "file:///code", .at = "main" },
        { .kind = ENTRY_IMAGE, .name = "torch", .uri = "r/torch:2" },
    };
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        catalogue_put(f.names, &entries[i]);
    report_init(&f.report, f.arena);
    f.role = (struct role){ .name = "w", .replicas = 1 };
    f.job = (struct job_spec){ .name = "j", .roles = &f.role, .n_roles = 1 };
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    catalogue_destroy(f->names);
    arena_destroy(f->arena);
    return 0;
}

static void queues_are_of_two_kinds(void **state)
{
    struct fix *f = *state;
    assert_string_equal(resolve_queue(f->names, NULL)->name, "default");
    assert_string_equal(resolve_queue(f->names, "")->name, "default");
    assert_int_equal(resolve_queue(f->names, "vision")->kind, ENTRY_VIRTUAL_CLUSTER);
    assert_null(resolve_queue(f->names, "visoin"));
    f->job.queue = "visoin";
    assert_int_equal(resolve_names(f->names, false, &f->job, &f->report), -1);
    assert_string_equal(f->report.at[0].path, "queue");
    assert_non_null(strstr(f->report.at[0].hint, "vision"));
}

static void a_workspace_says_the_queue(void **state)
{
    struct fix *f = *state;
    f->job.project = "team";
    assert_int_equal(resolve_names(f->names, false, &f->job, &f->report), 0);
    assert_string_equal(f->job.queue, "vision");
    f->job.queue = "default";
    assert_int_equal(resolve_names(f->names, false, &f->job, &f->report), 0);
    assert_string_equal(f->job.queue, "default");
}

static void sources_become_directories(void **state)
{
    struct fix *f = *state;
    f->job.inputs.code.git = "codesource:app";
    assert_int_equal(resolve_names(f->names, false, &f->job, &f->report), 0);
    assert_null(f->job.inputs.code.git);
    assert_string_equal(f->job.inputs.code.dir, "file:///code");
    assert_string_equal(f->job.inputs.code.at, "main");
    f->job.inputs.code.git = "codesource:apps";
    assert_int_equal(resolve_names(f->names, false, &f->job, &f->report), -1);
    assert_string_equal(f->report.at[0].path, "inputs.code");
    f->job.inputs.code.git = "https://h/x.git"; /* is none of the catalogue */
    assert_int_equal(resolve_names(f->names, false, &f->job, &f->report), 0);
}

/* Images and workspaces are names of the catalogue in some dialects only. */
static void a_catalogued_dialect_knows_more_names(void **state)
{
    struct fix *f = *state;
    f->role.image = "torch";
    assert_int_equal(resolve_names(f->names, false, &f->job, &f->report), 0);
    assert_string_equal(f->role.image, "torch");
    assert_int_equal(resolve_names(f->names, true, &f->job, &f->report), 0);
    assert_string_equal(f->role.image, "r/torch:2");
    f->role.image = "torhc";
    f->job.project = "none";
    assert_int_equal(resolve_names(f->names, false, &f->job, &f->report), 0);
    assert_int_equal(resolve_names(f->names, true, &f->job, &f->report), -1);
    assert_int_equal(f->report.errors, 2);
}

int main(void)
{
#define TEST(of) cmocka_unit_test_setup_teardown(of, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(queues_are_of_two_kinds),
        TEST(a_workspace_says_the_queue),
        TEST(sources_become_directories),
        TEST(a_catalogued_dialect_knows_more_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
