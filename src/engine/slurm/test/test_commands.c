/* Children that stand for Slurm's commands: scripts in a directory of the test's own, which the
 * PATH names first, so that nothing of a real Slurm is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/slurm/commands.h"

#include "base/file.h"
#include "base/mem.h"
#include "job/account.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct trial {
    uv_loop_t loop;
    char dir[64];
    char *path; /* of before */
    struct slurm_commands *commands;
    unsigned answers;
    char text[512], problem[256];
    bool good, down, unknown, full;
};

static void write_command(const struct trial *t, const char *name, const char *body)
{
    AUTO_FREE char *path = file_join(t->dir, name);
    AUTO_FREE char *text = mem_printf("#!/bin/sh\n%s\n", body);
    assert_int_equal(file_replace(path, text, strlen(text), 0700, NULL), 0);
}

static void make_commands(struct trial *t, const char **prefix, size_t n)
{
    AUTO_FREE char *program = file_join(t->dir, "program");
    const struct words words = { .at = prefix, .n = n };
    t->commands = slurm_commands_create(
        &t->loop, &(struct slurm_site){ .prefix = &words, .own = "root", .program = program });
}

static int set_up(void **state)
{
    struct trial *t = mem_new(sizeof *t);
    snprintf(t->dir, sizeof t->dir, "/tmp/slurm-commands-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    assert_int_equal(uv_loop_init(&t->loop), 0);
    t->path = mem_strdup(getenv("PATH"));
    AUTO_FREE char *path = mem_printf("%s:%s", t->dir, t->path);
    setenv("PATH", path, 1);
    make_commands(t, NULL, 0);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct trial *t = *state;
    slurm_commands_destroy(t->commands);
    uv_run(&t->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&t->loop), 0);
    setenv("PATH", t->path, 1);
    char remove[] = "rm", all[] = "-rf";
    char *argv[] = { remove, all, t->dir, NULL };
    uv_process_options_t options = { .file = remove, .args = argv };
    uv_process_t process;
    uv_loop_init(&t->loop);
    uv_spawn(&t->loop, &process, &options);
    uv_run(&t->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&process, NULL);
    uv_run(&t->loop, UV_RUN_DEFAULT);
    uv_loop_close(&t->loop);
    free(t->path);
    free(t);
    return 0;
}

static void on_answer(void *arg, const struct slurm_answer *answer)
{
    struct trial *t = arg;
    t->answers++;
    t->good = answer->text != NULL;
    t->down = answer->down;
    t->unknown = answer->unknown;
    t->full = answer->full;
    snprintf(t->text, sizeof t->text, "%s", answer->text ? answer->text : "");
    snprintf(t->problem, sizeof t->problem, "%s", answer->err ? answer->err->what : "");
}

static int run(struct trial *t, const struct slurm_call *how, struct err *err)
{
    static const char *const none[] = { NULL };
    struct slurm_call call = *how;
    call.args = call.args ? call.args : none;
    call.done = on_answer;
    call.arg = t;
    return slurm_run(t->commands, &call, err);
}

static void wait_answers(struct trial *t, unsigned n)
{
    while (t->answers < n)
        uv_run(&t->loop, UV_RUN_ONCE);
}

static void what_it_prints_is_the_answer(void **state)
{
    struct trial *t = *state;
    const char *const args[] = { "--parsable", "a b'c", NULL };
    struct err err;
    write_command(t, "sbatch", "echo warning >&2; echo \"$# $2\"; cat");
    assert_int_equal(
        run(t,
            &(struct slurm_call){
                .command = SLURM_SBATCH, .args = args, .input = "script", .input_len = 6 },
            &err),
        0);
    assert_true(slurm_is_busy(t->commands, SLURM_SBATCH, NULL));
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SBATCH }, &err), -1);
    assert_int_equal(err.code, ERR_BUSY);
    wait_answers(t, 1);
    assert_true(t->good);
    assert_string_equal(t->text, "2 a b'c\nscript");
    assert_false(slurm_is_busy(t->commands, SLURM_SBATCH, NULL));
}

static void what_fails_says_why(void **state)
{
    struct trial *t = *state;
    struct err err;
    write_command(t, "scancel", "echo 'scancel: error: Invalid job id 7' >&2; exit 1");
    write_command(t, "squeue",
                  "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect "
                  "failure)' >&2; exit 1");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SCANCEL }, &err), 0);
    wait_answers(t, 1);
    assert_false(t->good);
    assert_true(t->unknown);
    assert_string_equal(t->problem, "Slurm (scancel): Invalid job id 7");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SQUEUE }, &err), 0);
    wait_answers(t, 2);
    assert_true(t->down);
    slurm_commands_destroy(t->commands);
    const char *nothing[] = { "/nonexistent/prefix" };
    make_commands(t, nothing, 1);
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SINFO }, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
}

/* Whether Slurm has heard it is not known: it is looked for, and not taken for refused. */
static void one_that_is_cut_off_is_not_refused(void **state)
{
    struct trial *t = *state;
    const char *prefix[] = { "env", "--" };
    struct err err;
    write_command(t, "sbatch", "kill -9 $$");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SBATCH }, &err), 0);
    wait_answers(t, 1);
    assert_true(t->down);
    write_command(t, "sbatch", "echo 'sbatch: error: Batch job submission failed' >&2; exit 255");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SBATCH }, &err), 0);
    wait_answers(t, 2);
    assert_false(t->good || t->down);
    slurm_commands_destroy(t->commands);
    make_commands(t, prefix, 2);
    write_command(t, "sbatch", "echo 'client_loop: send disconnect: Broken pipe' >&2; exit 255");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SBATCH }, &err), 0);
    wait_answers(t, 3);
    assert_true(t->down);
    assert_non_null(strstr(t->problem, "Broken pipe"));
}

/* What it leaves behind may live as long as it likes, and writes into nothing. */
static void one_that_leaves_something_behind_has_answered(void **state)
{
    struct trial *t = *state;
    struct err err;
    write_command(t, "squeue", "echo 7; sleep 600 & echo $! >\"${0%/*}/left\"");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SQUEUE }, &err), 0);
    wait_answers(t, 1);
    assert_true(t->good);
    assert_string_equal(t->text, "7\n");
    AUTO_FREE char *path = file_join(t->dir, "left");
    AUTO_FREE char *left = NULL;
    size_t len;
    assert_int_equal(file_read(path, 64, &left, &len, NULL), 0);
    assert_int_equal(kill((pid_t)strtol(left, NULL, 10), SIGKILL), 0);
}

/* What it leaves says "no more" behind its end: it was taken all the same, and nobody is ended who
 * may have its number by then. */
static void what_is_said_behind_the_end_changes_nothing(void **state)
{
    struct trial *t = *state;
    struct err err;
    write_command(t, "sbatch",
                  "echo 7\n"
                  "{ while kill -0 $$ 2>/dev/null; do :; done\n"
                  "  echo 'sbatch: error: Slurm temporarily unable to accept job, sleeping and "
                  "retrying' >&2; } &");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SBATCH }, &err), 0);
    wait_answers(t, 1);
    assert_true(t->good);
    assert_false(t->full);
}

/* sbatch tries again and again by itself: it is ended. One behind a prefix cannot be. */
static void one_that_is_not_taken_is_ended(void **state)
{
    struct trial *t = *state;
    const char *prefix[] = { "env", "--" };
    struct err err;
    write_command(t, "sbatch",
                  "echo 'sbatch: error: Slurm temporarily unable to accept job, sleeping and "
                  "retrying' >&2; exec sleep 600");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SBATCH }, &err), 0);
    wait_answers(t, 1);
    assert_true(t->full);
    assert_false(t->good || t->down);
    assert_non_null(strstr(t->problem, "MaxJobCount"));
    slurm_commands_destroy(t->commands);
    make_commands(t, prefix, 2);
    write_command(t, "sbatch",
                  "echo 'sbatch: error: Slurm temporarily unable to accept job, sleeping and "
                  "retrying' >&2; sleep 0.2; echo 7");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SBATCH }, &err), 0);
    wait_answers(t, 2);
    assert_false(t->full);
    assert_string_equal(t->text, "7\n");
}

/* Also one whose own children hold its output. */
static void who_is_late_is_killed(void **state)
{
    struct trial *t = *state;
    struct err err;
    write_command(t, "squeue", "sleep 600 & wait");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SQUEUE, .limit_ms = 50 }, &err),
                     0);
    wait_answers(t, 1);
    assert_true(t->down);
    assert_non_null(strstr(t->problem, "does not answer"));
}

static void little_of_the_environment_is_handed_on(void **state)
{
    struct trial *t = *state;
    struct err err;
    setenv("A_SECRET", "x", 1);
    setenv("SLURM_CONF", "/etc/there", 1);
    write_command(t, "sinfo", "echo \"${A_SECRET-none} $SLURM_CONF $LC_ALL\"");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SINFO }, &err), 0);
    wait_answers(t, 1);
    assert_string_equal(t->text, "none /etc/there C\n");
    unsetenv("A_SECRET");
    unsetenv("SLURM_CONF");
}

static void words_are_quoted_behind_ssh_alone(void **state)
{
    struct trial *t = *state;
    const char *const args[] = { "a b", NULL };
    const char *prefix[] = { "ssh", "login" };
    struct err err;
    slurm_commands_destroy(t->commands);
    make_commands(t, prefix, 2);
    write_command(t, "ssh", "echo \"$1 $2 $3\"");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SINFO, .args = args }, &err), 0);
    wait_answers(t, 1);
    assert_string_equal(t->text, "login sinfo 'a b'\n");
    slurm_commands_destroy(t->commands);
    prefix[0] = "env";
    prefix[1] = "--";
    make_commands(t, prefix, 2);
    write_command(t, "sinfo", "echo \"$1\"");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SINFO, .args = args }, &err), 0);
    wait_answers(t, 2);
    assert_string_equal(t->text, "a b\n");
}

static const uint32_t groups[] = { 1001, 27 };
static const struct account ann = {
    .name = "ann", .home = "/home/ann", .shell = "/bin/sh", .ids = { 1001, 1002, groups, 2 }
};

/* What they have of their own is in the environment, and nothing of the server's. */
static void one_runs_as_an_account(void **state)
{
    struct trial *t = *state;
    struct err err;
    const char *const args[] = { "-x", NULL };
    setenv("SSH_AUTH_SOCK", "/of/root", 1);
    write_command(t, "program", "echo \"$1|$2|$HOME|$USER|$LOGNAME|$SHELL\"; shift 2; exec \"$@\"");
    write_command(t, "scancel", "echo \"$1 ${SSH_AUTH_SOCK-none}\"");
    const struct slurm_call call = { .command = SLURM_SCANCEL, .args = args, .as = &ann };
    assert_int_equal(run(t, &call, &err), 0);
    wait_answers(t, 1);
    assert_string_equal(t->text,
                        "1001 1002 1001 27|/home/ann|/home/ann|ann|ann|/bin/sh\n-x none\n");
    unsetenv("SSH_AUTH_SOCK");
}

/* A child that does not end, which whoever owns it may see to. */
static void an_account_holds_up_nobody_else(void **state)
{
    struct trial *t = *state;
    struct err err;
    write_command(t, "program", "exec sleep 600");
    write_command(t, "sbatch", "echo 7");
    const struct slurm_call own = { .command = SLURM_SBATCH };
    struct slurm_call theirs = { .command = SLURM_SBATCH, .as = &ann };
    assert_int_equal(run(t, &theirs, &err), 0);
    assert_true(slurm_is_busy(t->commands, SLURM_SBATCH, &ann));
    assert_false(slurm_is_busy(t->commands, SLURM_SBATCH, NULL));
    assert_int_equal(run(t, &theirs, &err), -1);
    assert_int_equal(err.code, ERR_BUSY);
    assert_int_equal(run(t, &own, &err), 0);
    wait_answers(t, 1);
    assert_string_equal(t->text, "7\n");
    assert_true(slurm_is_busy(t->commands, SLURM_SBATCH, &ann));
}

static void a_prefix_says_as_whom(void **state)
{
    struct trial *t = *state;
    const char *prefix[] = { "ssh", "%u@login" }, *none[] = { "ssh", "login" };
    struct account odd = ann;
    struct err err;
    odd.name = "ann;reboot";
    odd.ids.uid = 1003;
    assert_true(slurm_prefix_has_user(&(struct words){ .at = prefix, .n = 2 }));
    assert_true(slurm_prefix_has_user(&(struct words){ .n = 0 }));
    assert_false(slurm_prefix_has_user(&(struct words){ .at = none, .n = 2 }));
    slurm_commands_destroy(t->commands);
    make_commands(t, prefix, 2);
    write_command(t, "ssh", "echo \"$1 $2 $USER\"");
    setenv("USER", "root", 1);
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SINFO, .as = &ann }, &err), 0);
    wait_answers(t, 1);
    assert_string_equal(t->text, "ann@login sinfo root\n");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SINFO }, &err), 0);
    wait_answers(t, 2);
    assert_string_equal(t->text, "root@login sinfo root\n");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SINFO, .as = &odd }, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
    slurm_commands_destroy(t->commands);
    make_commands(t, none, 2);
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SINFO, .as = &ann }, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
}

static void what_runs_ends_with_all(void **state)
{
    struct trial *t = *state;
    struct err err;
    write_command(t, "squeue", "exec sleep 600");
    assert_int_equal(run(t, &(struct slurm_call){ .command = SLURM_SQUEUE }, &err), 0);
    slurm_commands_destroy(TAKE(t->commands));
    uv_run(&t->loop, UV_RUN_DEFAULT);
    assert_int_equal(t->answers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_it_prints_is_the_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_fails_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_cut_off_is_not_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_leaves_something_behind_has_answered, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_said_behind_the_end_changes_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_not_taken_is_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_late_is_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(little_of_the_environment_is_handed_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_are_quoted_behind_ssh_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_runs_as_an_account, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_account_holds_up_nobody_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_prefix_says_as_whom, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_runs_ends_with_all, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
