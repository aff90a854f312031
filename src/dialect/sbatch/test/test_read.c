/* Option lines as sbatch reads them, and what becomes of each value. What Slurm itself made of
 * lines was seen with 22.05.8. */
#include "base/buf.h"
#include "dialect/sbatch/script.h"
#include "dialect/sbatch/test/sample.h"
#include "dialect/sbatch/values.h"
#include "job/slurm_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GI (1ull << 30)

/* What a node of the first component gets. */
static const struct row {
    const char *lines;
    uint32_t nodes, cpu, gpu;
    uint64_t memory;
} rows[] = {
    { "#SBATCH -N2", 2, 1, 0, 0 },
    { "#SBATCH --nodes=2 --ntasks-per-node=4 -c 3", 2, 12, 0, 0 },
    { "#SBATCH -N2 -n5", 2, 3, 0, 0 },
    { "#SBATCH -N4 -n2", 2, 1, 0, 0 },
    { "#SBATCH --ntasks=8 --tasks-per-node=4", 2, 4, 0, 0 },
    { "#SBATCH --nodes=1k", 1024, 1, 0, 0 },
    { "#SBATCH -N 2-4", 2, 1, 0, 0 },
    { "#SBATCH -w n[1-3]", 3, 1, 0, 0 },
    { "#SBATCH --gres=gpu:a100:2 -N2", 2, 1, 2, 0 },
    { "#SBATCH --gres gpu:2", 1, 1, 2, 0 },
    { "#SBATCH -G 8 --gpus-per-node=4", 2, 1, 4, 0 },
    { "#SBATCH --gpus=8 -N2 --cpus-per-gpu=3", 2, 12, 4, 0 },
    { "#SBATCH --gpus-per-task=1 --ntasks-per-node=4 -N2", 2, 4, 4, 0 },
    { "#SBATCH --ntasks-per-gpu=2 --gpus=4", 1, 8, 4, 0 },
    { "#SBATCH --mem=4G", 1, 1, 0, 4 * GI },
    { "#SBATCH --mem=1024", 1, 1, 0, GI },
    { "#SBATCH --mem=200gb", 1, 1, 0, 200 * GI },
    { "#SBATCH --mem-per-cpu=2G -c4", 1, 4, 0, 8 * GI },
    { "#SBATCH --mem-per-gpu=2G --gres=gpu:3", 1, 1, 3, 6 * GI },
    { "#SBATCH --mem=0", 1, 1, 0, 0 },
    { "#SBATCH --exclusive -c8", 1, 0, 0, 0 },
    { "#SBATCH --exclusive --mem-per-cpu=4G", 1, 0, 0, 0 },
    { "#SBATCH --exclusive --mem=4G", 1, 0, 0, 4 * GI },
    { "#SBATCH --overcommit --ntasks-per-node=8", 1, 1, 0, 0 },
    { "#SBATCH --mincpus=6", 1, 6, 0, 0 },
    { "#SBATCH -N2 --tasks=4 -c2", 2, 8, 0, 0 }, /* a beginning of --tasks-per-node */
    { "#SBATCH -c 4 -c 2", 1, 2, 0, 0 },         /* the last one counts */
    { "#SBATCH -N2 # two\n##SBATCH -N4\n #SBATCH -N5\n#SBATCH-c2", 2, 2, 0, 0 },
};

static void test_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sample s;
        sample_read(&s, rows[i].lines);
        if (!s.job)
            fail_msg("%s: %s", rows[i].lines, s.report.n ? s.report.at[0].what : "nothing said");
        const struct role *role = &s.job->roles[0];
        if (role->replicas != rows[i].nodes || role->resources.cpu_milli != rows[i].cpu * 1000u ||
            role->resources.gpu_milli != rows[i].gpu * 1000u ||
            role->resources.memory != rows[i].memory)
            fail_msg("%s: %u nodes, %llu cpu, %llu gpu, %llu memory", rows[i].lines, role->replicas,
                     (unsigned long long)role->resources.cpu_milli,
                     (unsigned long long)role->resources.gpu_milli,
                     (unsigned long long)role->resources.memory);
        sample_end(&s);
    }
}

static const struct {
    const char *lines, *what;
    uint32_t line; /* of the problem */
} refused[] = {
    { "#SBATCH --nodse=2", "no option of sbatch", 2 },
    { "#SBATCH -N2\n#SBATCH --n=4", "several options", 3 },
    { "#SBATCH \xe2\x80\x93N2", "is no option", 2 },
    { "#SBATCH job-name", "is no option", 2 },
    { "#SBATCH --comment=\"a", "quote is not closed", 2 },
    { "#SBATCH --comment=a\\ b", "backslash", 2 },
    { "#SBATCH --cpus=4", "several options", 2 },
    { "#SBATCH --gres=gpus:1", "names gpus", 2 },
    { "#SBATCH --nodes", "has no value", 2 },
    { "#SBATCH --hold=yes", "takes no value", 2 },
    { "#SBATCH --mem=1.5G", "no amount of memory", 2 },
    { "#SBATCH --mem=16GiB", "no amount of memory", 2 },
    { "#SBATCH --mem=1G --mem-per-cpu=1G", "exclude each other", 2 },
    { "#SBATCH --cpus-per-gpu=2 -c2 -G1", "exclude each other", 2 },
    { "#SBATCH --gpus=3 --gpus-per-node=2", "no multiple", 2 },
    { "#SBATCH --time=soon", "is no time", 2 },
    { "#SBATCH --array=1,3,7", "without equal steps", 2 },
    { "#SBATCH --array=x", "is no array", 2 },
    { "#SBATCH --array=1-10001", "is no array", 2 },
    { "#SBATCH --dependency=singleton:1", "no kind of dependency", 2 },
    { "#SBATCH --dependency=after:1", "do not wait for", 2 },
    { "#SBATCH --dependency=afterok:1?afterok:2", "has ?", 2 },
    { "#SBATCH --dependency=afterok:me", "no number of a job", 2 },
    { "#SBATCH --begin=16:00", "start time", 2 },
    { "#SBATCH --signal=NONE", "is no signal", 2 },
    { "#SBATCH -N2\n#SBATCH --open-mode=w", "is no mode", 3 },
    { "#SBATCH -N2 --ntasks-per-node=1 -n5", "fewer than the 5 tasks", 2 },
    { "#SBATCH -m arbitrary", "no order that srun knows", 2 },
    { "#!/bin/bash\r\n#SBATCH -N2\r\n", "line ends of DOS", 1 },
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct sample s;
        sample_read(&s, refused[i].lines);
        const struct problem *p = sample_said(&s, refused[i].what);
        if (s.job || !p)
            fail_msg("%s: %s", refused[i].lines, s.report.n ? s.report.at[0].what : "accepted");
        assert_int_equal(p->severity, SEVERITY_ERROR);
        assert_int_equal(p->place.line, refused[i].line);
        sample_end(&s);
    }
}

/* As many as a job may have, and one more, which is not dropped. */
static void test_mounts(void **state)
{
    enum { MOST = 64 };
    (void)state;
    for (int n = MOST; n <= MOST + 1; n++) {
        AUTO_BUF struct buf lines = BUF_INIT(4096);
        struct sample s;
        buf_puts(&lines, "#SBATCH --container-mounts=/m0");
        for (int i = 1; i < n; i++)
            buf_addf(&lines, ",/m%d:/at%d:ro", i, i);
        sample_read(&s, buf_str(&lines));
        assert_int_equal(sample_said(&s, "more than 64 mounts") != NULL, n > MOST);
        assert_int_equal(s.job != NULL, n <= MOST);
        if (s.job)
            assert_int_equal(s.job->inputs.n_data, MOST);
        sample_end(&s);
    }
}

/* All mistakes at once, each with its line. */
static void test_all_mistakes(void **state)
{
    static const struct {
        const char *what;
        uint32_t line;
    } mistakes[] = { { "--nodes=two", 2 }, { "--frobnicate is no option", 3 }, { "no value", 4 } };
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH --nodes=two\n#SBATCH --frobnicate\n#SBATCH --mem");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct problem *p = sample_said(&s, mistakes[i].what);
        assert_non_null(p);
        assert_int_equal(p->place.line, mistakes[i].line);
    }
    assert_int_equal(s.report.errors, 3);
    sample_end(&s);
}

/* Every option of the table is honoured, or something is said; nothing is dropped. */
static void test_every_option(void **state)
{
    (void)state;
    for (enum sb_id id = 0; id < SB_ID_N; id++) {
        struct sample s;
        char lines[200];
        const struct sb_option *o = &sb_options[id];
        snprintf(lines, sizeof lines, "#SBATCH --%s%s", o->name, o->arg == SB_ARG ? "=1" : "");
        sample_read(&s, lines);
        assert_null(sample_said(&s, "no option of sbatch"));
        if (o->fate == SB_REFUSED && !sample_said(&s, "cannot be had") && id != SBO_BEGIN)
            fail_msg("--%s is not refused", o->name);
        if (o->fate == SB_WARNED && !sample_said(&s, "has no effect"))
            fail_msg("--%s is dropped in silence", o->name);
        if (o->fate == SB_QUIET && s.report.n)
            fail_msg("--%s: %s", o->name, s.report.at[0].what);
        assert_true(*o->doc);
        sample_end(&s);
    }
}

static void test_words(void **state)
{
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH --job-name=\"my job\" --comment=a\\#b#c -N9\n#SBATCH -J 'x y'");
    assert_non_null(s.job);
    assert_string_equal(s.job->name, "x y");
    assert_string_equal(s.job->description, "a#b");
    assert_int_equal(s.job->roles[0].replicas, 1); /* -N9 stands in a comment */
    sample_end(&s);
    sample_read(&s, "#SBATCH -J a\necho\n#SBATCH -J b");
    assert_string_equal(s.job->name, "a");
    const struct problem *p = sample_said(&s, "the first command is in line 3");
    assert_non_null(p);
    assert_int_equal(p->place.line, 4);
    sample_end(&s);
    sample_read(&s, "# SBATCH -J a\n#PBS -N b\n##SBATCH -J c");
    assert_non_null(sample_said(&s, "this line is a comment"));
    assert_non_null(sample_said(&s, "#PBS"));
    assert_int_equal(s.report.warnings, 2);
    sample_end(&s);
}

static void test_job(void **state)
{
    struct sample s;
    (void)state;
    sample_read(&s,
                "#SBATCH -A lab -p gpu -t 1-00:00 -H --nice=5 --no-requeue\n"
                "#SBATCH -a 0-30:5%2 -d afterok:7:8,afterany:9 -x n[1-2] --switches=1\n"
                "#SBATCH --signal=B:USR1@90 -o out/%x_%j.txt --open-mode=append --export=A=b,C=d");
    const struct job_spec *job = s.job;
    assert_non_null(job);
    assert_string_equal(job->project, "lab");
    assert_string_equal(job->queue, "gpu");
    assert_true(job->suspend);
    assert_int_equal(job->priority, 4);
    assert_int_equal(job->limits.run_time_ms.value, 86400000);
    assert_int_equal(job->retry.platform.kind, COUNT_NEVER);
    assert_int_equal(job->array.count, 7);
    assert_int_equal(job->array.step, 5);
    assert_int_equal(job->array.at_once, 2);
    assert_int_equal(job->n_after, 3);
    assert_int_equal(job->after[1].job, 8);
    assert_string_equal(job->after[2].ended, "any");
    assert_int_equal(job->placing.avoid.n, 2);
    assert_string_equal(job->placing.within, "switch");
    assert_string_equal(pairs_get(&job->roles[0].env, "C"), "d");
    const struct text_node *config = text_get(job->config, "sbatch");
    assert_string_equal(text_word(config, "output"), "out/%x_%j.txt");
    assert_int_equal(text_get(text_get(config, "signal"), "seconds")->integer, 90);
    assert_non_null(strstr(text_word(config, "script"), "srun hostname"));
    sample_end(&s);
}

static void test_components(void **state)
{
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH -J a -N1 --mem=1G -c4\n#SBATCH hetjob\n#SBATCH -N3 --gres=gpu:2");
    assert_non_null(s.job);
    assert_int_equal(s.job->n_roles, 2);
    assert_int_equal(s.job->roles[1].replicas, 3);
    assert_int_equal(s.job->roles[1].resources.gpu_milli, 2000);
    assert_int_equal(s.job->roles[1].resources.cpu_milli, 1000); /* -c is not kept */
    assert_int_equal(s.job->roles[1].resources.memory, GI);      /* --mem is */
    assert_int_equal(s.job->roles[1].done.succeeded.kind, COUNT_NEVER);
    sample_end(&s);
}

static void test_times(void **state)
{
    static const struct {
        const char *text;
        uint64_t minutes;
    } times[] = {
        { "15", 15 },         { "1:30", 2 },
        { "48:0:00", 2880 },  { "1-0", 1440 },
        { "1-2:30", 1590 },   { "23:59:59", 1440 },
        { "0", UINT64_MAX },  { "UNLIMITED", UINT64_MAX },
        { "720000", 720000 }, { "2-00:00:01", 2881 },
    };
    uint64_t minutes;
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(slurm_time(times[i].text, &minutes));
        assert_int_equal(minutes, times[i].minutes);
    }
    assert_false(slurm_time("1:", &minutes));
    assert_false(slurm_time("1-", &minutes));
    assert_false(slurm_time("1:2:3:4", &minutes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_mounts),       cmocka_unit_test(test_all_mistakes),
        cmocka_unit_test(test_every_option), cmocka_unit_test(test_words),
        cmocka_unit_test(test_job),          cmocka_unit_test(test_components),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
