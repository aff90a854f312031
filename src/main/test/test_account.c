/* What the server's child says of an account of this machine: by name or by number, nothing of one
 * that is not there, and whether a person's jobs may run as it. */
#include "main/account_main.h"

#include "base/mem.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct said {
    int status;
    char text[1 << 16];
};

/* In a process of its own, as the server calls it. */
static void ask(struct said *said, int argc, const char *name)
{
    char *argv[] = { (char *)(uintptr_t) "account-of", (char *)(uintptr_t)name, NULL };
    int fds[2], status;
    size_t len = 0;
    fflush(NULL);
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        _exit(account_main(argc, argv));
    }
    close(fds[1]);
    for (ssize_t n; (n = read(fds[0], said->text + len, sizeof said->text - 1 - len)) > 0;)
        len += (size_t)n;
    said->text[len] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    said->status = WEXITSTATUS(status);
}

/* The value of "KEY=" at the front of a line; NULL: there is no such line. */
static const char *value(const struct said *said, const char *key, char out[4096])
{
    size_t n = strlen(key);
    for (const char *at = said->text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, key, n) == 0 && at[n] == '=') {
            snprintf(out, 4096, "%.*s", (int)strcspn(at + n + 1, "\n"), at + n + 1);
            return out;
        }
    return NULL;
}

static void is(const struct said *said, const char *key, const char *wanted)
{
    char text[4096];
    const char *found = value(said, key, text);
    assert_non_null(found);
    assert_string_equal(found, wanted);
}

/* Nobody's jobs run as root, however a user is called. */
static void root_is_no_person(void **state)
{
    struct said said;
    char groups[4096];
    (void)state;
    const struct passwd *root = getpwnam("root");
    if (!root)
        skip();
    ask(&said, 2, "root");
    assert_int_equal(said.status, 0);
    is(&said, "uid", "0");
    is(&said, "gid", "0");
    is(&said, "home", root->pw_dir);
    is(&said, "shell", root->pw_shell);
    is(&said, "ordinary", "no");
    assert_non_null(value(&said, "groups", groups));
    assert_int_equal(strspn(groups, "0123456789,"), strlen(groups));
    assert_int_equal(groups[0], '0');
}

/* The name service may know a user that has no name here. */
static void by_number(void **state)
{
    struct said by_name, by_number;
    (void)state;
    if (!getpwnam("root") || getpwnam("uid0"))
        skip();
    ask(&by_name, 2, "root");
    ask(&by_number, 2, "uid0");
    assert_int_equal(by_number.status, 0);
    assert_string_equal(by_number.text, by_name.text);
}

/* Nothing is an answer: there is none. A failure would be asked again. */
static void one_that_is_not_there(void **state)
{
    static const char *const names[] = { "no-such-account-here", "",       "uid",   "uid-1", "uidx",
                                         "uid4294967295",        "root\n", "uid0x0" };
    struct said said;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ask(&said, 2, names[i]);
        assert_int_equal(said.status, 0);
        assert_string_equal(said.text, "");
    }
}

static void one_question_at_a_time(void **state)
{
    struct said said;
    (void)state;
    ask(&said, 1, NULL);
    assert_int_equal(said.status, 1);
    assert_string_equal(said.text, "");
}

/* Each account of this machine is read as the C library has it, and only people's are ordinary. */
static void every_account_of_this_machine(void **state)
{
    struct said said;
    char text[32];
    unsigned seen = 0;
    (void)state;
    setpwent();
    for (const struct passwd *user; seen < 40 && (user = getpwent()); seen++) {
        AUTO_FREE char *name = mem_strdup(user->pw_name);
        uid_t uid = user->pw_uid;
        ask(&said, 2, name);
        assert_int_equal(said.status, 0);
        snprintf(text, sizeof text, "%u", uid);
        is(&said, "uid", text);
        if (uid < 100 || uid == 65534)
            is(&said, "ordinary", "no");
    }
    endpwent();
    assert_true(seen > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_is_no_person),
        cmocka_unit_test(by_number),
        cmocka_unit_test(one_that_is_not_there),
        cmocka_unit_test(one_question_at_a_time),
        cmocka_unit_test(every_account_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
