/* The batch script of a server in an allocation of its own: what Slurm is asked for, and that a
 * shell takes it. A real Slurm takes it in tests/test_in_job.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/in_job_script.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct in_job_places places = { .home = "/home/a da/.local/state/muster",
                                             .program = "/home/it's/muster" };

static int set_up(void **state)
{
    (void)state;
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("MUSTER_SEAL_KEY");
    unsetenv("MUSTER_SHARED_HOME");
    return 0;
}

static int run_shell(const char *command, const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sh", "sh", "-c", command, path, (char *)NULL);
        _exit(126);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void slurm_is_asked_for_what_was_said(void **state)
{
    static const char *const flags[] = { "--qos=high", "--comment=say \"it\" \\ now" };
    const struct in_job_ask ask = { .partition = "service",
                                    .time_ms = 90 * 60000 + 1,
                                    .flags = flags,
                                    .n_flags = ARRAY_LEN(flags) };
    AUTO_BUF struct buf out = BUF_INIT(IN_JOB_SCRIPT_MAX);
    struct err err;
    (void)state;
    assert_int_equal(in_job_script(&ask, &places, &out, &err), 0);
    const char *text = buf_str(&out);
    assert_memory_equal(text, "#!/bin/sh\n#SBATCH ", 18);
    assert_non_null(strstr(text, "#SBATCH \"--partition=service\"\n"));
    assert_non_null(strstr(text, "#SBATCH \"--time=91\"\n")); /* Slurm counts in minutes */
    assert_non_null(strstr(text, "#SBATCH \"--signal=B:USR1@180\"\n"));
    assert_non_null(strstr(text, "#SBATCH \"--no-requeue\"\n"));
    assert_non_null(
        strstr(text, "#SBATCH \"--output=/home/a da/.local/state/muster/in-job/server.log\"\n"));
    const char *last = strstr(text, "#SBATCH \"--comment=say \\\"it\\\" \\\\ now\"\n");
    assert_non_null(last); /* behind ours: the last one counts */
    assert_null(strstr(last + 1, "#SBATCH"));
    assert_null(strstr(text, "MUSTER_SHARED_HOME="));
}

static void a_short_one_is_told_later(void **state)
{
    const struct in_job_ask ask = { .time_ms = 0 };
    AUTO_BUF struct buf out = BUF_INIT(IN_JOB_SCRIPT_MAX);
    struct err err;
    (void)state;
    assert_int_equal(in_job_warning(0), 180);
    assert_int_equal(in_job_warning(60 * 24), 180);
    assert_int_equal(in_job_warning(4), 60);
    assert_int_equal(in_job_warning(1), 15);
    assert_int_equal(in_job_script(&ask, &places, &out, &err), 0);
    assert_null(strstr(buf_str(&out), "--time="));
    assert_null(strstr(buf_str(&out), "--partition="));
}

static void a_shell_takes_it(void **state)
{
    const struct in_job_ask ask = { .time_ms = 0 };
    AUTO_BUF struct buf out = BUF_INIT(IN_JOB_SCRIPT_MAX);
    char dir[] = "/tmp/muster-in-job-XXXXXX";
    struct err err;
    (void)state;
    setenv("MUSTER_SHARED_HOME", "yes", 1);
    assert_int_equal(in_job_script(&ask, &places, &out, &err), 0);
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *path = file_join(dir, "script");
    assert_int_equal(file_replace(path, out.data, out.len, 0600, &err), 0);
    assert_int_equal(run_shell("sh -n \"$0\"", path), 0);
    assert_int_equal(run_shell("eval \"$(grep -E '^(home|program|export MUSTER_SHARED_HOME)=' "
                               "\"$0\")\"; test \"$home,$program,$MUSTER_SHARED_HOME\" = "
                               "\"/home/a da/.local/state/muster,/home/it's/muster,yes\"",
                               path),
                     0);
    file_remove_tree(dir, NULL);
}

static void what_no_line_can_say_is_refused(void **state)
{
    static const char *const lines[] = { "--comment=a\nrm" }, *const words[] = { "high" },
                             *const names[] = { "--job-name=mine" };
    struct in_job_ask ask = { .flags = lines, .n_flags = 1 };
    AUTO_BUF struct buf out = BUF_INIT(IN_JOB_SCRIPT_MAX);
    struct err err;
    (void)state;
    assert_int_equal(in_job_script(&ask, &places, &out, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    ask.flags = words;
    assert_int_equal(in_job_script(&ask, &places, &out, &err), -1);
    ask.flags = names;
    assert_int_equal(in_job_script(&ask, &places, &out, &err), -1);
    ask = (struct in_job_ask){ .time_ms = UINT64_C(400) * 24 * 3600000 };
    assert_int_equal(in_job_script(&ask, &places, &out, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slurm_is_asked_for_what_was_said, set_up),
        cmocka_unit_test_setup(a_short_one_is_told_later, set_up),
        cmocka_unit_test_setup(a_shell_takes_it, set_up),
        cmocka_unit_test_setup(what_no_line_can_say_is_refused, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
