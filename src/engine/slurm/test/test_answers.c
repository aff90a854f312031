/* What Slurm 22.05.8 printed, as it was recorded from its daemons, and what is made of it; lines of
 * other jobs, which may have anything in them, among it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/slurm/answers.h"

#include <string.h>
#include <time.h>

static int set_up(void **state)
{
    *state = arena_create();
    return 0;
}

static int tear_down(void **state)
{
    arena_destroy(*state);
    return 0;
}

static const struct slurm_job *find(const struct slurm_jobs *jobs, const char *id, const char *name)
{
    return slurm_find_job(jobs, &(struct slurm_search){ .id = id, .name = name });
}

static void jobs_are_read(void **state)
{
    static const char text[] =
        "1@COMPLETED@9:40@2026-11-27T07:10:32@2@main@n[1-2]@1001@muster-pilot-abc@None\n"
        "2@CANCELLED@UNLIMITED@2026-11-27T07:12:07@9@main@@1001@s.sh@PartitionNodeLimit\n"
        "10@PENDING@1-02:03:00@N/A@3@main@@1001@a@b@Resources\n"
        "9@RUNNING@9:58@2026-11-27T07:12:08@2@main@n[1-2]@1001@muster-pilot-ab12@None\n"
        "11@PENDING@5:00@2026-11-27T07:22:08@3@main@@1001@muster-pilot-cd34@Resources\n"
        "12_[1-3]@PENDING@5:00@N/A@1@main@@1001@array@Priority\n"
        "slurm_load_jobs: something else\n";
    struct slurm_jobs jobs;
    slurm_read_jobs(*state, text, &jobs);
    assert_int_equal(jobs.n, 5); /* without the array and the last line */
    assert_int_equal(jobs.at[0].state, SLURM_DONE);
    assert_true(slurm_state_is_over(jobs.at[1].state));
    const struct slurm_job *job = find(&jobs, "9", "muster-pilot-ab12");
    assert_non_null(job);
    assert_int_equal(job->state, SLURM_RUNNING);
    assert_false(slurm_state_is_over(job->state));
    assert_true(job->has_left);
    assert_int_equal(job->left_ms, 598000);
    assert_int_equal(job->n_nodes, 2);
    assert_string_equal(job->nodes, "n[1-2]");
    assert_string_equal(job->partition, "main");
    job = find(&jobs, "", "muster-pilot-cd34");
    assert_non_null(job);
    assert_string_equal(job->id, "11");
    assert_string_equal(job->reason, "Resources");
    assert_string_equal(job->nodes, "");
    time_t at = (time_t)(job->start_ms / 1000);
    struct tm tm;
    assert_true(job->has_start);
    assert_int_equal(localtime_r(&at, &tm)->tm_min, 22);
    assert_null(find(&jobs, "90", "muster-pilot-cd34"));
    assert_null(find(&jobs, "9", "muster-pilot-cd34"));
    assert_null(find(&jobs, "", "muster-pilot-none"));
}

/* Whoever sees the name of another's job can give it to a job of his own. */
static void one_without_an_id_is_its_accounts(void **state)
{
    static const char text[] = "3@RUNNING@9:58@N/A@1@main@n3@1002@muster-pilot-ab@None\n"
                               "5@PENDING@9:58@N/A@1@main@@1001@muster-pilot-ab@Priority\n";
    const uint32_t ann = 1001, cem = 1003;
    struct slurm_jobs jobs;
    struct slurm_search wanted = { .id = "", .name = "muster-pilot-ab", .uid = &ann };
    slurm_read_jobs(*state, text, &jobs);
    assert_int_equal(jobs.n, 2);
    assert_string_equal(slurm_find_job(&jobs, &wanted)->id, "5");
    wanted.uid = &cem;
    assert_null(slurm_find_job(&jobs, &wanted));
    wanted.uid = NULL;
    assert_string_equal(slurm_find_job(&jobs, &wanted)->id, "3");
}

static void spans_are_read(void **state)
{
    static const struct {
        const char *text;
        uint64_t seconds;
    } good[] = { { "0:00", 0 }, { "9:40", 580 },         { "1:00:00", 3600 },
                 { "30", 30 },  { "1-02:03:04", 93784 }, { "364-23:59:40", 31535980 } };
    static const char *const bad[] = { "UNLIMITED", "NOT_SET", "N/A",     "INVALID", "",
                                       "1-",        "1-02:03", "1:2:3:4", "-1:00",   ":" };
    uint64_t ms = 7;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(slurm_read_span(good[i].text, &ms));
        assert_int_equal(ms, good[i].seconds * 1000);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(slurm_read_span(bad[i], &ms));
}

static void what_was_submitted_is_read(void **state)
{
    const char *id = NULL;
    struct err err;
    assert_int_equal(slurm_read_submitted(*state, "17\n", &id, &err), 0);
    assert_string_equal(id, "17");
    assert_int_equal(slurm_read_submitted(*state, "sbatch: lua: welcome\n42;cluster\n", &id, &err),
                     0);
    assert_string_equal(id, "42");
    assert_int_equal(slurm_read_submitted(*state, "", &id, &err), -1);
    assert_int_equal(slurm_read_submitted(*state, "Submitted batch job 7\n", &id, &err), -1);
}

static void problems_are_told_apart(void **state)
{
    static const struct {
        const char *text, *what;
        enum slurm_problem problem;
    } rows[] = {
        { "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
          "Slurm (squeue): slurm_load_jobs error: Unable to contact slurm controller (connect "
          "failure)",
          SLURM_PROBLEM_DOWN },
        { "sbatch: error: Batch job submission failed: Transport endpoint is not connected\n",
          "Slurm (squeue): Transport endpoint is not connected", SLURM_PROBLEM_DOWN },
        { "sbatch: error: invalid partition specified: nope\n"
          "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
          "Slurm (squeue): Invalid partition name specified", SLURM_PROBLEM_REQUEST },
        { "sbatch: unrecognized option '--foo'\nTry \"sbatch --help\" for more information\n",
          "Slurm (squeue): unrecognized option '--foo'", SLURM_PROBLEM_REQUEST },
        { "slurm_load_jobs error: Invalid job id specified\n",
          "Slurm (squeue): slurm_load_jobs error: Invalid job id specified",
          SLURM_PROBLEM_UNKNOWN_JOB },
        { "scancel: error: Kill job error on job id 7: Access/permission denied\n",
          "Slurm (squeue): Kill job error on job id 7: Access/permission denied",
          SLURM_PROBLEM_DENIED },
        { "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n",
          "Slurm takes no more jobs now (MaxJobCount of slurm.conf)", SLURM_PROBLEM_FULL },
        { "sbatch: error: AssocMaxSubmitJobLimit\n"
          "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job "
          "submit limit, user's size and/or time limits)\n",
          "Slurm takes no more jobs now (MaxSubmitJobs of the association)", SLURM_PROBLEM_FULL },
        { "sbatch: error: QOSMaxNodePerJobLimit\n"
          "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job "
          "submit limit, user's size and/or time limits)\n",
          "Slurm (squeue): Job violates accounting/QOS policy (job submit limit, user's size "
          "and/or time limits)",
          SLURM_PROBLEM_DENIED },
        { "", "Slurm (squeue): it failed and said nothing", SLURM_PROBLEM_OTHER },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err;
        assert_int_equal(slurm_read_problem(rows[i].text), rows[i].problem);
        assert_int_equal(slurm_set_problem("squeue", rows[i].text, &err), -1);
        assert_string_equal(err.what, rows[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_without_an_id_is_its_accounts, set_up, tear_down),
        cmocka_unit_test(spans_are_read),
        cmocka_unit_test_setup_teardown(what_was_submitted_is_read, set_up, tear_down),
        cmocka_unit_test(problems_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
