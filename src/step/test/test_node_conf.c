/* What a node of a batch script's job reads of its environment and of the job's config; and where
 * srun puts what its tasks write. */
#include "base/file.h"
#include "base/mem.h"
#include "step/node_conf.h"
#include "step/srun_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct arena *arena;
    struct err err;
    char dir[32];
    char *config;
};
static const char *const names[] = { "MUSTER_CONFIG",     "MUSTER_JOB_SECRET", "MUSTER_STEP_PORT",
                                     "MUSTER_STEP_FIRST", "MUSTER_STEP_TIME",  "SLURM_JOB_ID",
                                     "SLURM_NODEID",      "SLURMD_NODENAME",   "SLURM_JOB_NAME" };

static void put(const struct fixture *f, const char *text)
{
    assert_int_equal(file_replace(f->config, text, strlen(text), 0600, NULL), 0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->arena = arena_create();
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-step-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->config = file_join(f->dir, "config.json");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("MUSTER_CONFIG", f->config, 1);
    setenv("MUSTER_JOB_SECRET", "secret", 1);
    setenv("MUSTER_STEP_PORT", "20001", 1);
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("SLURM_JOB_NAME", "train", 1);
    setenv("SLURM_NODEID", "1", 1);
    setenv("SLURMD_NODENAME", "n2", 1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(file_remove_tree(f->dir, NULL), 0);
    free(f->config);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void a_node_knows_its_script(void **state)
{
    struct fixture *f = *state;
    struct node_conf conf;
    put(f, "{\"sbatch\": {\"script\": \"#!/bin/sh\\ntrue\\n\", \"args\": [\"a\", \"b c\"], "
           "\"output\": \"%j.out\", \"append\": true, "
           "\"signal\": {\"number\": 10, \"seconds\": 60, \"batch\": true}}}");
    setenv("MUSTER_STEP_FIRST", "1", 1);
    setenv("MUSTER_STEP_TIME", "300", 1);
    assert_int_equal(node_conf_read(f->arena, &conf, &f->err), 0);
    assert_string_equal(conf.script, "#!/bin/sh\ntrue\n");
    assert_int_equal(conf.args.n, 2);
    assert_string_equal(conf.args.at[1], "b c");
    assert_string_equal(conf.output, "%j.out");
    assert_null(conf.error);
    assert_true(conf.append && conf.first && conf.signal_batch);
    assert_string_equal(conf.dir, f->dir);
    assert_int_equal(conf.port, 20001);
    assert_int_equal(conf.signal, 10);
    assert_int_equal(conf.signal_after_ms, 240000);
    assert_string_equal(conf.facts.job, "12");
    assert_string_equal(conf.facts.node, "n2");
    assert_int_equal(conf.facts.node_id, 1);
    setenv("MUSTER_STEP_TIME", "30", 1); /* sooner than so long before the end: at once */
    assert_int_equal(node_conf_read(f->arena, &conf, &f->err), 0);
    assert_int_equal(conf.signal_after_ms, 0);
    unsetenv("MUSTER_STEP_TIME"); /* it has no end */
    assert_int_equal(node_conf_read(f->arena, &conf, &f->err), 0);
    assert_int_equal(conf.signal, 0);
}

static void refused(struct fixture *f, const char *part)
{
    struct node_conf conf;
    assert_int_equal(node_conf_read(f->arena, &conf, &f->err), -1);
    if (!strstr(f->err.what, part))
        fail_msg("\"%s\" does not say \"%s\"", f->err.what, part);
}

static void what_is_no_node_of_a_script_says_so(void **state)
{
    struct fixture *f = *state;
    put(f, "{\"other\": {}}");
    refused(f, "has no batch script");
    put(f, "{\"sbatch\"");
    refused(f, "has no batch script");
    setenv("MUSTER_CONFIG", "/nowhere/config.json", 1);
    refused(f, "/nowhere/config.json");
    unsetenv("MUSTER_CONFIG");
    refused(f, "no batch script is known");
    setenv("MUSTER_STEP_PORT", "70000", 1);
    refused(f, "no node of a job");
    setenv("MUSTER_STEP_PORT", "20001", 1);
    unsetenv("MUSTER_JOB_SECRET");
    refused(f, "no node of a job");
}

/* ---- what srun's tasks write ---- */

static void says(struct srun_output *out, uint32_t rank, uint32_t stream, const char *text)
{
    const struct srun_writer writer = { .node = "n2", .node_id = 1 };
    const struct step_data data = {
        .rank = rank, .stream = stream, .at = text, .len = strlen(text)
    };
    srun_output_write(out, &writer, &data);
}

static void holds(struct fixture *f, const char *name, const char *text)
{
    AUTO_FREE char *path = file_join(f->dir, name), *has = NULL;
    size_t len = 0;
    if (file_read(path, 4096, &has, &len, &f->err) != 0)
        fail_msg("%s", f->err.what);
    assert_string_equal(has, text);
}

static void lines_of_all_go_to_one_file(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *path = file_join(f->dir, "all-%j.%s");
    struct srun_opts opts = { .at = { [SRUN_OUTPUT] = path, [SRUN_LABEL] = "" } };
    struct srun_output *out = srun_output_create(&opts, 3, 12, &f->err);
    assert_non_null(out);
    says(out, 0, 1, "half ");
    says(out, 10, 1, "one\ntwo\n");
    says(out, 0, 1, "a line\nthe rest");
    says(out, 0, 2, "error\n"); /* no file of its own: the same */
    says(out, 99, 1, "nobody\n");
    srun_output_end(out, 0);
    srun_output_end(out, 10);
    srun_output_destroy(out);
    holds(f, "all-12.3", "10: one\n10: two\n 0: half a line\n 0: error\n 0: the rest\n");
}

static void a_file_for_each_task(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *path = file_join(f->dir, "%N-%t");
    struct srun_opts opts = { .at = { [SRUN_OUTPUT] = path, [SRUN_ERROR] = "none" } };
    struct srun_output *out = srun_output_create(&opts, 0, 2, &f->err);
    assert_non_null(out);
    says(out, 0, 1, "zero\n");
    says(out, 1, 1, "one");
    says(out, 1, 2, "thrown away\n");
    srun_output_end(out, 1);
    srun_output_destroy(out);
    holds(f, "n2-0", "zero\n");
    holds(f, "n2-1", "one");
    struct srun_opts bad = { .at = { [SRUN_OUTPUT] = "/nowhere/out" } };
    assert_null(srun_output_create(&bad, 0, 2, &f->err));
    assert_non_null(strstr(f->err.what, "/nowhere/out"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_node_knows_its_script),
        T(what_is_no_node_of_a_script_says_so),
        T(lines_of_all_go_to_one_file),
        T(a_file_for_each_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
