/* What options of run and submit become in the job's tree, and what is said about values that are
 * wrong: times, jobs to wait for, options of one role. */
#include "cli/job_opts.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct words sets_of(struct arena *a, const struct job_opts *o, struct command_opts *role,
                            const struct job_spec *job)
{
    struct job_opts_ask ask = { .opts = o, .of_file = role, .job = job, .file = "a.yaml" };
    struct words sets = { .n = 0 };
    struct err err;
    if (role)
        assert_int_equal(job_opts_devices(a, o, role, &ask.gpu_type, &err), 0);
    if (job_opts_sets(a, &ask, &sets, &err) != 0)
        fail_msg("%s", err.what);
    return sets;
}

static void expect(const struct words sets, const char *const *wanted)
{
    size_t n = 0;
    for (; wanted[n]; n++) {
        assert_true(n < sets.n);
        assert_string_equal(sets.at[n], wanted[n]);
    }
    assert_int_equal(sets.n, n);
}
#define EXPECT(sets, ...) expect(sets, (const char *const[]){ __VA_ARGS__, NULL })

static void times(void **state)
{
    struct arena *a = arena_create();
    static const struct {
        const char *text, *set;
    } rows[] = {
        { "90s", "limits.run_time=90000ms" },           { "1h30m", "limits.run_time=5400000ms" },
        { "2:30", "limits.run_time=150000ms" },         { "1:00:01", "limits.run_time=3601000ms" },
        { "1-0", "limits.run_time=86400000ms" },        { "1-02:03", "limits.run_time=93780000ms" },
        { "2-02:03:04", "limits.run_time=180184000ms" }
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        EXPECT(sets_of(a, &(struct job_opts){ .time = rows[i].text }, NULL, NULL), rows[i].set);
    static const char *const wrong[] = { "",     "30",  "0:0",   "x",    "1:2:3:4",       "1-",
                                         "-1:0", "1::", "1-2-3", "1:2h", "99999999999:1", "0s" };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct words sets;
        struct err err = { .code = ERR_NONE };
        struct job_opts_ask ask = { .opts = &(struct job_opts){ .time = wrong[i] } };
        if (job_opts_sets(a, &ask, &sets, &err) == 0)
            fail_msg("--time \"%s\" was taken as %s", wrong[i], sets.n ? sets.at[0] : "nothing");
        assert_int_equal(err.code, ERR_INPUT);
    }
    arena_destroy(a);
}

static void jobs_to_wait_for(void **state)
{
    struct arena *a = arena_create();
    (void)state;
    EXPECT(sets_of(a, &(struct job_opts){ .after = "12,prep" }, NULL, NULL),
           "after=[{job: 12}, {job: \"prep\"}]");
    EXPECT(sets_of(a, &(struct job_opts){ .dependency = "afterok:1:2,afternotok:3" }, NULL, NULL),
           "after=[{job: 1}, {job: 2}, {job: 3, ended: badly}]");
    EXPECT(sets_of(a, &(struct job_opts){ .after = "1", .dependency = "aftercorr:2" }, NULL, NULL),
           "after=[{job: 1}, {job: 2, match: index}]");
    arena_destroy(a);
}

static void an_open_stdin(void **state)
{
    struct arena *a = arena_create();
    struct role roles[2] = { { .name = "a" }, { .name = "b" } };
    struct job_spec job = { .roles = roles, .n_roles = 1 };
    struct words sets;
    struct err err;
    (void)state;
    EXPECT(sets_of(a, &(struct job_opts){ .open_stdin = true }, NULL, &job), "stdin=true");
    EXPECT(sets_of(a, &(struct job_opts){ .tty = true }, NULL, NULL), "stdin=true", "tty=true");
    job.n_roles = 2;
    struct job_opts_ask ask = { .opts = &(struct job_opts){ .open_stdin = true }, .job = &job };
    assert_int_equal(job_opts_sets(a, &ask, &sets, &err), -1);
    assert_string_equal(err.hint, "--set roles.a.stdin=true");
    roles[1].open_stdin = true; /* the file says it */
    EXPECT(sets_of(a, &(struct job_opts){ .tty = true }, NULL, &job), NULL);
    arena_destroy(a);
}

static void of_a_role(void **state)
{
    struct arena *a = arena_create();
    struct job_spec *job = job_new(a);
    struct role roles[2] = { { .name = "ps" }, { .name = "worker" } };
    struct command_opts role = { .gpu = "a100:2", .memory = "4Gi" };
    struct job_opts o = { .nodes = "3" };
    (void)state;
    job->roles = roles;
    job->n_roles = 1;
    EXPECT(sets_of(a, &o, &role, job), "replicas=3", "place.spread=[ps]", "resources.gpu_type=a100",
           "resources.memory=4Gi", "resources.gpu=2");
    role = (struct command_opts){ .gpu = NULL };
    EXPECT(sets_of(a, &(struct job_opts){ .gres = "gpu:h100:4" }, &role, job),
           "resources.gpu_type=h100", "resources.gpu=4");
    assert_string_equal(role.gpu, "4");
    job->n_roles = 2;
    struct err err;
    struct words sets;
    struct job_opts_ask ask = { .opts = &o, .of_file = &role, .job = job, .file = "a.yaml" };
    assert_int_equal(job_opts_sets(a, &ask, &sets, &err), -1);
    assert_string_equal(err.what, "--nodes: a.yaml has 2 roles, which of them is not said");
    assert_string_equal(err.hint, "--set roles.ps.replicas=3");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(times), cmocka_unit_test(jobs_to_wait_for),
                                        cmocka_unit_test(an_open_stdin),
                                        cmocka_unit_test(of_a_role) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
