/* Commands that are run for real: their words, variables, status and what they said; and what is
 * not handed to a program at all. */
#include "node/runtime/command.h"

#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char place[] = "/tmp/muster-command.XXXXXX";

static int make_place(void **state)
{
    (void)state;
    return mkdtemp(place) ? 0 : -1;
}

static int remove_place(void **state)
{
    (void)state;
    AUTO_FREE char *said = mem_printf("%s/said", place);
    (void)unlink(said);
    return rmdir(place);
}

/* malloc'ed: what it said. */
static char *run_shell(const char *text, const struct command_variable *more, size_t n, int *status)
{
    char why[ROOT_WHY] = "";
    AUTO_FREE char *path = mem_printf("%s/said", place);
    AUTO_CLOSE int said = command_open_said(path, why);
    assert_true(said >= 0);
    struct command command = command_new("sh", 1);
    const char *const words[] = { "-c", text };
    command_add_all(&command, words, ARRAY_LEN(words));
    *status = command_run(&command, more, n, said);
    command_free(&command);
    return command_said(said);
}

static void its_end_and_what_it_said(void **state)
{
    (void)state;
    int status;
    const struct command_variable more[] = { { "OF_THE_TEST", "a b" } };
    AUTO_FREE char *said =
        run_shell("echo lost; echo \"$OF_THE_TEST\" >&2; echo ' ' >&2; exit 3", more, 1, &status);
    assert_string_equal(said, "a b");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    AUTO_FREE char *nothing = run_shell("true", NULL, 0, &status);
    assert_string_equal(nothing, ""); /* what the one before said is gone */
    assert_int_equal(status, 0);
}

static void one_that_is_not_there(void **state)
{
    (void)state;
    struct command command = command_new("/nonexistent/program", 0);
    int status = command_run(&command, NULL, 0, -1);
    command_free(&command);
    assert_int_equal(WEXITSTATUS(status), 127);
}

static void no_limit_is_over_the_own(void **state)
{
    (void)state;
    struct rlimit is;
    unsigned long long asked, same;
    char *end;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &is), 0);
    struct command command = command_new("p", 0);
    command_limit(&command, "nofile", RLIMIT_NOFILE);
    assert_int_equal(command.n, 3);
    assert_string_equal(command.at[1], "--ulimit");
    assert_int_equal(strncmp(command.at[2], "nofile=", 7), 0);
    asked = strtoull(command.at[2] + 7, &end, 10);
    assert_int_equal(*end, ':');
    same = strtoull(end + 1, &end, 10);
    assert_int_equal(*end, '\0');
    assert_true(asked > 0 && asked == same && asked <= is.rlim_max);
    command_free(&command);
}

static void what_may_be_shown(void **state)
{
    (void)state;
    char why[ROOT_WHY] = "";
    const struct fs_user somebody = { .uid = 1, .gid = 1 }, root = { .uid = 0 };
    struct root_bind bind = { .from = "/tmp", .at = "/a" };
    assert_int_equal(command_may_show("p", &bind, why), 1);
    bind.user = &root;
    assert_int_equal(command_may_show("p", &bind, why), 1);
    bind.user = &somebody;
    assert_int_equal(command_may_show("p", &bind, why), -1);
    assert_int_equal(strncmp(why, "p runs no tasks of other accounts", 33), 0);
    bind = (struct root_bind){ .from = "/nonexistent", .at = "/a" };
    assert_int_equal(command_may_show("p", &bind, why), -1);
    assert_non_null(strstr(why, "/nonexistent"));
    bind.may_miss = true;
    assert_int_equal(command_may_show("p", &bind, why), 0);
}

/* The whole of an entry, of a process that lives. */
static void a_process_is_known_by_its_environment(void **state)
{
    (void)state;
    int pair[2];
    char byte;
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pair[1], STDOUT_FILENO);
        execl("/usr/bin/env", "env", "OF_THE_TEST=/a/b", "sh", "-c", "while echo; do :; done",
              (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    assert_int_equal(read(pair[0], &byte, 1), 1);
    assert_true(command_pid_has(pid, "OF_THE_TEST=/a/b"));
    assert_false(command_pid_has(pid, "OF_THE_TEST=/a"));
    close(pair[0]); /* it ends by that */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(command_pid_has(pid, "OF_THE_TEST=/a/b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_end_and_what_it_said),
        cmocka_unit_test(one_that_is_not_there),
        cmocka_unit_test(no_limit_is_over_the_own),
        cmocka_unit_test(what_may_be_shown),
        cmocka_unit_test(a_process_is_known_by_its_environment),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
