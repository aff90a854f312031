/* Command lines of srun and what they start where, in a job of two components; files of
 * --multi-prog. */
#include "base/file.h"
#include "step/multi_prog.h"
#include "step/srun_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ARGS = 32 };

struct fixture {
    struct arena *arena;
    struct err err;
    struct srun_opts *parts;
    size_t n;
    struct srun_job job;
    struct srun_plan plan;
};

/* Two nodes of the first component, one of the second. */
static int plan_line(struct fixture *f, const char *line)
{
    static const char *const words[] = { "HOME=/home/ada", "PATH=/opt/bin:/bin",
                                         "MUSTER_STEP_PATH=/bin", "SLURM_NTASKS_HET_GROUP_0=4",
                                         "SLURM_CPUS_PER_TASK_HET_GROUP_0=2" };
    *f = (struct fixture){ .arena = arena_create() };
    char **env = ARENA_ARRAY(f->arena, sizeof words / sizeof *words + 1, char *);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        env[i] = arena_strdup(f->arena, words[i]);
    char *argv[ARGS] = { (char[]){ "srun" } };
    int argc = 1;
    for (const char *at = line; *at; at += strcspn(at, " "), at += *at == ' ')
        argv[argc++] = arena_strndup(f->arena, at, strcspn(at, " "));
    if (srun_opts_read(f->arena, argc, argv, &f->parts, &f->n, &f->err) < 0 ||
        srun_job_read(f->arena, "n1=10.0.0.1:100,n2=10.0.0.2:101;m1=10.0.0.3:102", env, &f->job,
                      &f->err) < 0)
        return -1;
    return srun_plan_make(f->arena, &f->job, f->parts, f->n, &f->plan, &f->err);
}

/* "n1:0,1 n2:2,3" */
static const char *shown(struct fixture *f)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    for (size_t i = 0; i < f->plan.n; i++) {
        const struct srun_target *t = &f->plan.targets[i];
        buf_addf(&out, "%s%s:", i ? " " : "", t->node->name);
        for (size_t k = 0; k < t->start.n_tasks; k++)
            buf_addf(&out, "%s%u", k ? "," : "", t->start.tasks[k].rank);
    }
    return arena_strdup(f->arena, buf_str(&out));
}

static void test_lines(void **state)
{
    static const struct {
        const char *line, *tasks; /* tasks NULL: refused, and err says what */
        const char *what;
    } rows[] = {
        { "hostname", "n1:0,1 n2:2,3", NULL },
        { "-N1 hostname", "n1:0", NULL },
        { "-n1 hostname", "n1:0", NULL },
        { "-n 3 -m cyclic hostname", "n1:0,2 n2:1", NULL },
        { "--ntasks-per-node=1 hostname", "n1:0 n2:1", NULL },
        { "--tasks-per-node=3 -l -N 1 hostname -x", "n1:0,1,2", NULL },
        { "-w n2 -n2 hostname", "n2:0,1", NULL },
        { "-x n1 hostname", "n2:0", NULL }, /* the job's tasks are of all its nodes */
        { "-r1 -N1 hostname", "n2:0", NULL },
        { "--het-group=0,1 -n1 hostname", "n1:0 m1:1", NULL },
        { "--het-group=0 -n2 a : --het-group=1 -n1 b", "n1:0 n2:1 m1:2", NULL },
        { "--cpu_bind=cores --mpi=none --mem 0 -- hostname", "n1:0,1 n2:2,3", NULL },
        { "-N3 hostname", NULL, "the job has 2 nodes" },
        { "-n4", NULL, "no program" },
        { "-nx hostname", NULL, "is no number" },
        { "--mpi=pmix hostname", NULL, "service of Slurm's own srun" },
        { "--pty bash", NULL, "cannot be had" },
        { "--nosuch hostname", NULL, "is no option" },
        { "--label=1 hostname", NULL, "takes no value" },
        { "--nodes", NULL, "has no value" },
        { "-n5 --ntasks-per-node=2 hostname", NULL, "more than 2 on one" },
        { "--het-group=2 hostname", NULL, "2 components" },
        { "--multi-prog /nosuch/file", NULL, "/nosuch/file" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        int rc = plan_line(&f, rows[i].line);
        if (rows[i].tasks && rc != 0)
            fail_msg("%s: %s", rows[i].line, f.err.what);
        if (rows[i].tasks)
            assert_string_equal(shown(&f), rows[i].tasks);
        else if (rc == 0 || !strstr(f.err.what, rows[i].what))
            fail_msg("%s: %s", rows[i].line, rc == 0 ? "accepted" : f.err.what);
        arena_destroy(f.arena);
    }
}

static void test_limits(void **state)
{
    static const struct {
        const char *line;
        uint64_t run_ms, wait_ms;
        const char *what; /* NULL: it is right */
    } rows[] = {
        { "hostname", 0, 0, NULL },
        { "-t 5 hostname", 300000, 0, NULL },
        { "-t 1:00:00 -W 30 hostname", 3600000, 30000, NULL },
        { "--time=1-0 hostname", 86400000, 0, NULL },
        { "-t 0:10 hostname", 60000, 0, NULL },
        { "-t UNLIMITED --wait=0 hostname", 0, 0, NULL },
        { "-t soon hostname", 0, 0, "--time=soon is no time" },
        { "-t 1:2:3:4 hostname", 0, 0, "is no time" },
        { "-W 1:00 hostname", 0, 0, "--wait=1:00 is no number" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        struct srun_limits limits = { .run_ms = 0 };
        assert_int_equal(plan_line(&f, rows[i].line), 0);
        int rc = srun_opts_limits(&f.parts[0], &limits, &f.err);
        if (rc != (rows[i].what ? -1 : 0) || (rc < 0 && !strstr(f.err.what, rows[i].what)))
            fail_msg("%s: %s", rows[i].line, rc < 0 ? f.err.what : "accepted");
        assert_int_equal(limits.run_ms, rows[i].run_ms);
        assert_int_equal(limits.wait_ms, rows[i].wait_ms);
        arena_destroy(f.arena);
    }
}

static bool has_word(const struct words *words, const char *word)
{
    return words_have(words, word);
}

static void test_messages(void **state)
{
    struct fixture f;
    uint32_t devices[] = { 1, 3 };
    struct step_gpus gpus[] = { { devices, 2 }, { NULL, 0 } };
    (void)state;
    assert_int_equal(plan_line(&f, "-n3 --gpus-per-task=1 --export=ALL,A=b -D sub prog arg"), 0);
    assert_int_equal(f.plan.claim.n, 2);
    assert_int_equal(f.plan.claim.shares[0].cpus, 4); /* two tasks of two cores */
    assert_int_equal(f.plan.claim.shares[0].gpus, 2);
    assert_int_equal(f.plan.claim.shares[1].gpus, 1);
    srun_plan_grant(f.arena, &f.plan, &(struct step_grant){ .step = 5, .gpus = gpus, .n = 2 });
    const struct step_start *start = &f.plan.targets[0].start;
    assert_string_equal(start->argv.at[1], "arg");
    assert_string_equal(start->path_front, "/opt/bin");
    assert_true(start->some_gpus);
    assert_int_equal(start->gpus.at[1], 3);
    assert_non_null(strstr(start->dir, "/sub"));
    assert_true(has_word(&start->env, "A=b"));
    assert_true(has_word(&start->env, "HOME=/home/ada"));
    assert_true(has_word(&start->env, "SLURM_STEP_ID=5"));
    assert_true(has_word(&start->env, "SLURM_STEP_NODELIST=n[1-2]"));
    assert_true(has_word(&start->env, "SLURM_STEP_TASKS_PER_NODE=2,1"));
    assert_true(has_word(&f.plan.targets[1].start.env, "SLURM_NODEID=1"));
    arena_destroy(f.arena);
    assert_int_equal(plan_line(&f, "--overlap --export=NONE prog"), 0);
    assert_int_equal(f.plan.claim.n, 0);
    assert_false(has_word(&f.plan.targets[0].start.env, "HOME=/home/ada"));
    arena_destroy(f.arena);
}

static void check_multi(const char *text, const char *what, const char *last)
{
    struct arena *a = arena_create();
    struct err err = { .code = ERR_NONE };
    struct multi_prog multi;
    char path[] = "/tmp/muster-multi-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    int rc = multi_prog_read(a, path, 4, &multi, &err);
    unlink(path);
    if (what) {
        assert_int_equal(rc, -1);
        if (!strstr(err.what, what))
            fail_msg("%s", err.what);
    } else {
        assert_int_equal(rc, 0);
        struct words words = multi_prog_of(a, &multi, 3);
        assert_string_equal(words.at[words.n - 1], last);
    }
    arena_destroy(a);
}

static void test_multi_prog(void **state)
{
    (void)state;
    check_multi("# programs\n0 head\n1-3 work 'a b' %t-%o\n", NULL, "3-2");
    check_multi("0,2 head\n* work %o\n", NULL, "1");
    check_multi("0-3 work \\\"x\n", NULL, "\"x");
    check_multi("0-2 work\n", "rank 3 has no program", NULL);
    check_multi("0-3 work\n1 other\n", "another line already", NULL);
    check_multi("0-3\n", "has no program", NULL);
    check_multi("x work\n", "does not begin with ranks", NULL);
    check_multi("0-3 'work\n", "quote is not closed", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_multi_prog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
