/* Variables for tasks: which of this shell's go along, what a file of them may look like, which of
 * several sources wins, and that no message shows a value. */
#include "cli/job_env.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
    struct cli cli;
    char dir[40];
    char *file;
    char **environ_before;
    struct pairs env;
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    memcpy(w->dir, "/tmp/muster-env-XXXXXX", sizeof "/tmp/muster-env-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    w->file = file_join(w->dir, "variables");
    w->cli = (struct cli){ .arena = arena_create() };
    w->environ_before = environ;
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    environ = w->environ_before;
    int rc = file_remove_tree(w->dir, NULL);
    arena_destroy(w->cli.arena);
    free(w->file);
    free(w);
    return rc;
}

static void is(const struct world *w, const char *name, const char *value)
{
    const char *found = pairs_get(&w->env, name);
    if (value)
        assert_non_null(found);
    if (value)
        assert_string_equal(found, value);
    else if (found)
        fail_msg("%s is there", name);
}

static int read_export(struct world *w, const char *words)
{
    return job_env_read(&w->cli, &(struct job_env){ .export = words }, &w->env, &w->err);
}

static int read_text(struct world *w, const char *text)
{
    const char *files[] = { w->file };
    assert_int_equal(file_replace(w->file, text, strlen(text), 0600, &w->err), 0);
    return job_env_read(&w->cli, &(struct job_env){ .files = { .at = files, .n = 1 } }, &w->env,
                        &w->err);
}

static int read_option(struct world *w, const char *text)
{
    return job_env_read(&w->cli, &(struct job_env){ .env = { .at = &text, .n = 1 } }, &w->env,
                        &w->err);
}

/* ---- --export ---- */

static void nothing_goes_by_itself(void **state)
{
    struct world *w = *state;
    const char *shell[] = { "DATA=/data", NULL };
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(job_env_read(&w->cli, &(struct job_env){ .export = NULL }, &w->env, &w->err),
                     0);
    assert_int_equal(w->env.n, 0);
    assert_int_equal(read_export(w, "none"), 0);
    assert_int_equal(w->env.n, 0);
    assert_int_equal(read_export(w, "NIL"), 0);
    assert_int_equal(w->env.n, 0);
}

/* A task of a job that submits another one would else give it its own place in the world. */
static void all_leaves_out_the_place_in_another_job(void **state)
{
    static const char *const hidden[] = {
        "MUSTER_JOB_ID", "MUSTER_TOKEN", "PAI_TASK_INDEX", "SLURM_PROCID",
        "PMI_RANK",      "PMIX_ID",      "OMPI_COMM",      "TORCHELASTIC_RUN_ID",
        "PET_NNODES",    "RANK",         "LOCAL_RANK",     "WORLD_SIZE",
        "MASTER_ADDR",   "MASTER_PORT",  "TF_CONFIG",      "CUDA_VISIBLE_DEVICES"
    };
    struct world *w = *state;
    const char *shell[ARRAY_LEN(hidden) + 4];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        shell[n++] = arena_printf(w->cli.arena, "%s=x", hidden[i]);
    shell[n++] = "RANKS=4";      /* only begins like one of them */
    shell[n++] = "SLURMISH=yes"; /* so does this */
    shell[n++] = "LANG=C.UTF-8";
    shell[n] = NULL;
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(read_export(w, "all"), 0);
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        is(w, hidden[i], NULL);
    is(w, "RANKS", "4");
    is(w, "SLURMISH", "yes");
    is(w, "LANG", "C.UTF-8");
    assert_int_equal(w->env.n, 3);
}

static void all_leaves_out_what_is_the_shells(void **state)
{
    struct world *w = *state;
    const char *shell[] = { "PWD=/here",
                            "OLDPWD=/there",
                            "SHLVL=2",
                            "_=/usr/bin/env",
                            "VIRTUAL_ENV=/venv",
                            "CONDA_PREFIX=/conda",
                            "BASH_FUNC_ll%%=() {  ls -l; }",
                            "no-name=1",
                            "9LIVES=1",
                            "=C:=x",
                            "NOTHING",
                            "EMPTY=",
                            "EQUALS=a=b",
                            NULL };
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(read_export(w, "ALL"), 0); /* as Slurm writes it */
    assert_int_equal(w->env.n, 2);
    is(w, "EMPTY", "");
    is(w, "EQUALS", "a=b");
}

/* Who names one of those that "all" leaves out has it. */
static void what_is_named_goes(void **state)
{
    struct world *w = *state;
    const char *shell[] = { "RANK=3", "DATA=/data", "OTHER=1", NULL };
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(read_export(w, "RANK,DATA,NEW=a b,EMPTY="), 0);
    assert_int_equal(w->env.n, 4);
    is(w, "RANK", "3");
    is(w, "DATA", "/data");
    is(w, "NEW", "a b");
    is(w, "EMPTY", "");
    assert_int_equal(read_export(w, "all,DATA=/elsewhere"), 0);
    is(w, "DATA", "/elsewhere");
    is(w, "OTHER", "1");
    is(w, "RANK", NULL);
    assert_int_equal(read_export(w, "NONE,DATA"), 0); /* Slurm's "NONE" beside names */
    assert_int_equal(w->env.n, 1);
}

static void what_is_not_set_is_refused(void **state)
{
    struct world *w = *state;
    const char *shell[] = { "DATA=/data", NULL };
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(read_export(w, "DATA,DATTA"), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    assert_string_equal(w->err.what, "--export: DATTA is not set here");
    assert_string_equal(w->err.hint, "DATTA=VALUE, or export it first");
    assert_int_equal(read_export(w, "DATA,=secret"), -1);
    assert_string_equal(w->err.what, "--export: a value without a name");
    assert_null(strstr(w->err.hint, "secret"));
    assert_int_equal(read_export(w, "DATA,,DATA"), -1); /* a hole in the list is a slip */
}

/* ---- --env-file ---- */

static void a_file_as_docker_and_shells_write_it(void **state)
{
    struct world *w = *state;
    static const char text[] = "# comment\n"
                               "\n"
                               "  \t# another one\n"
                               "A=1\n"
                               "  B=two words\n"
                               "export C=3\n"
                               "export   D=4\n"
                               "export\tE=5\n"
                               "QUOTED=\"a # b\"\n"
                               "SINGLE='it is'\n"
                               "ONE='\n"
                               "MIXED=\"x'\n"
                               "EMPTY=\n"
                               "EQUALS=a=b=c\n"
                               "DOLLAR=$HOME/x\n"
                               "LAST=no newline";
    assert_int_equal(read_text(w, text), 0);
    is(w, "A", "1");
    is(w, "B", "two words");
    is(w, "C", "3");
    is(w, "D", "4");
    is(w, "E", "5");
    is(w, "QUOTED", "a # b");
    is(w, "SINGLE", "it is");
    is(w, "ONE", "'");      /* a quote that nothing closes is a character */
    is(w, "MIXED", "\"x'"); /* so are two different ones */
    is(w, "EMPTY", "");
    is(w, "EQUALS", "a=b=c");
    is(w, "DOLLAR", "$HOME/x"); /* nobody expands it */
    is(w, "LAST", "no newline");
    assert_int_equal(w->env.n, 13);
}

static void lines_of_other_systems(void **state)
{
    struct world *w = *state;
    assert_int_equal(read_text(w, "A=1\r\n\r\n# c\r\nB=\"2\"\r\n"), 0);
    assert_int_equal(w->env.n, 2);
    is(w, "A", "1");
    is(w, "B", "2");
    assert_int_equal(read_text(w, ""), 0);
    assert_int_equal(w->env.n, 0);
    assert_int_equal(read_text(w, "\n\n# only comments\n"), 0);
    assert_int_equal(w->env.n, 0);
}

static void a_name_alone_is_as_it_is_here(void **state)
{
    struct world *w = *state;
    const char *shell[] = { "HF_TOKEN=hf_abc", NULL };
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(read_text(w, "HF_TOKEN\nexport HF_TOKEN\n"), 0);
    is(w, "HF_TOKEN", "hf_abc");
    assert_int_equal(w->env.n, 1);
}

static void messages_name_the_line_and_no_value(void **state)
{
    struct world *w = *state;
    const char *shell[] = { NULL };
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(read_text(w, "A=1\n\n=hunter2\n"), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    const char *line = arena_printf(w->cli.arena, "%s:3: a value without a name", w->file);
    assert_string_equal(w->err.what, line);
    assert_null(strstr(w->err.hint, "hunter2"));
    assert_int_equal(read_text(w, "A=1\r\nMISSING\r\n"), -1);
    line = arena_printf(w->cli.arena, "%s:2: MISSING is not set here", w->file);
    assert_string_equal(w->err.what, line);
}

static void a_file_that_is_not_there(void **state)
{
    struct world *w = *state;
    const char *files[] = { w->file };
    struct job_env from = { .files = { .at = files, .n = 1 } };
    assert_int_equal(job_env_read(&w->cli, &from, &w->env, &w->err), -1);
    assert_int_equal(w->err.code, ERR_INPUT); /* the user's slip, not the machine's trouble */
    assert_non_null(strstr(w->err.what, w->file));
    files[0] = w->dir; /* nor is a directory one */
    assert_int_equal(job_env_read(&w->cli, &from, &w->env, &w->err), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
}

/* ---- --env, and all together ---- */

static void one_variable(void **state)
{
    struct world *w = *state;
    const char *shell[] = { "HERE=1", NULL };
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(read_option(w, "A=\"kept as it is\""), 0);
    is(w, "A", "\"kept as it is\""); /* the shell has taken its quotes already */
    assert_int_equal(read_option(w, "HERE"), 0);
    is(w, "HERE", "1");
    assert_int_equal(read_option(w, "THERE"), -1);
    assert_string_equal(w->err.what, "--env: THERE is not set here");
    assert_int_equal(read_option(w, ""), -1);
    assert_string_equal(w->err.what, "--env: a value without a name");
}

static void the_later_source_wins(void **state)
{
    struct world *w = *state;
    static const char text[] = "A=file\nB=file\nB=file again\n";
    const char *files[] = { w->file }, *env[] = { "A=option", "C=option", "A=last" };
    const char *shell[] = { "A=shell", "B=shell", "C=shell", "D=shell", NULL };
    environ = (char **)(uintptr_t)shell;
    assert_int_equal(file_replace(w->file, text, strlen(text), 0600, &w->err), 0);
    struct job_env from = { .export = "all",
                            .files = { .at = files, .n = 1 },
                            .env = { .at = env, .n = 3 } };
    assert_int_equal(job_env_read(&w->cli, &from, &w->env, &w->err), 0);
    assert_int_equal(w->env.n, 4);
    is(w, "A", "last");
    is(w, "B", "file again");
    is(w, "C", "option");
    is(w, "D", "shell");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_goes_by_itself),
        CASE(all_leaves_out_the_place_in_another_job),
        CASE(all_leaves_out_what_is_the_shells),
        CASE(what_is_named_goes),
        CASE(what_is_not_set_is_refused),
        CASE(a_file_as_docker_and_shells_write_it),
        CASE(lines_of_other_systems),
        CASE(a_name_alone_is_as_it_is_here),
        CASE(messages_name_the_line_and_no_value),
        CASE(a_file_that_is_not_there),
        CASE(one_variable),
        CASE(the_later_source_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
