/* What is said of containers without one, and what waits in one. Real ones are made by
 * tests/test_image_semantics.py. */
#include "node/runtime/container.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char top[] = "/tmp/muster-container.XXXXXX";

static int make_top(void **state)
{
    (void)state;
    return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
    (void)state;
    struct err err;
    return file_remove_tree(top, &err);
}

static char *new_dir(const char *name)
{
    struct err err;
    char *dir = mem_printf("%s/%s/roots/w.0.1", top, name);
    assert_int_equal(file_mkdirs(dir, 0755, &err), 0);
    return dir;
}

static void says_that_podman_is_not_there(void **state)
{
    (void)state;
    char why[ROOT_WHY] = "";
    pid_t pid = 0;
    AUTO_FREE char *dir = new_dir("none");
    const struct container container = { .holder = "/bin/true" };
    const struct root root = { .tree = top, .dir = dir, .container = &container };
    AUTO_FREE char *path = mem_strdup(getenv("PATH"));
    setenv("PATH", top, 1);
    int rc = container_start(&root, &pid, why);
    setenv("PATH", path, 1);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(why, "podman: cannot be started"));
    assert_true(container_is_of(dir));
}

static void refuses_what_cannot_be_shown(void **state)
{
    (void)state;
    char why[ROOT_WHY] = "";
    pid_t pid = 0;
    AUTO_FREE char *dir = new_dir("colon");
    const struct container container = { .holder = "/bin/true" };
    const struct root_bind bind = { .from = "/tmp", .at = "/a:b" };
    const struct root_bind missing = { .from = "/nonexistent", .at = "/a" };
    const struct fs_user somebody = { .uid = 1, .gid = 1 };
    const struct root_bind of_account = { .from = "/tmp", .at = "/a", .user = &somebody };
    struct root root = { .tree = top, .dir = dir, .container = &container, .n_binds = 1 };
    root.binds = &bind;
    assert_int_equal(container_start(&root, &pid, why), -1);
    assert_non_null(strstr(why, "/a:b"));
    root.binds = &missing;
    assert_int_equal(container_start(&root, &pid, why), -1);
    assert_non_null(strstr(why, "/nonexistent"));
    root.binds = &of_account;
    assert_int_equal(container_start(&root, &pid, why), -1);
    assert_non_null(strstr(why, "other accounts"));
    assert_false(container_is_of(dir)); /* nothing was started */
}

static void leaves_what_no_container_was_started_with(void **state)
{
    (void)state;
    AUTO_FREE char *dir = new_dir("plain");
    AUTO_FREE char *roots = mem_printf("%s/plain/roots", top);
    AUTO_FREE char *kept = mem_printf("%s/podman", dir);
    container_remove(dir);
    container_sweep(roots);
    container_sweep("/nonexistent");
    assert_false(file_is_dir(kept)); /* podman was not asked */
    assert_true(file_is_dir(dir));
}

static void write_file(const char *dir, const char *name, const char *text)
{
    struct err err;
    AUTO_FREE char *path = mem_printf("%s/%s", dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

/* What holds the namespace of a plain user's is ended by its number, which another process may have
 * by then. */
static void ends_no_process_of_others(void **state)
{
    (void)state;
    struct err err;
    char text[16];
    AUTO_FREE char *dir = new_dir("reused");
    AUTO_FREE char *tmp = mem_printf("%s/podman/tmp", dir);
    AUTO_FREE char *path = mem_strdup(getenv("PATH"));
    assert_int_equal(file_mkdirs(tmp, 0700, &err), 0);
    pid_t pid = fork();
    if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        for (;;)
            (void)pause();
    snprintf(text, sizeof text, "%d", (int)pid);
    write_file(dir, "container", "");
    write_file(tmp, "pause.pid", text);
    setenv("PATH", top, 1); /* only its number is left */
    container_remove(dir);
    setenv("PATH", path, 1);
    assert_true(container_is_of(dir)); /* to be tried again */
    assert_int_equal(kill(pid, SIGTERM), 0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void is_removed_once(void **state)
{
    (void)state;
    if (access("/usr/bin/podman", X_OK) != 0)
        skip();
    AUTO_FREE char *dir = new_dir("once");
    write_file(dir, "container", "");
    container_remove(dir);
    assert_false(container_is_of(dir));
}

static void waits_until_it_is_told_to_end(void **state)
{
    (void)state;
    int status, pair[2];
    char byte;
    assert_int_equal(pipe(pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        sigset_t end;
        sigemptyset(&end);
        sigaddset(&end, SIGTERM);
        sigprocmask(SIG_BLOCK, &end, NULL);
        (void)!write(pair[1], "r", 1);
        _exit(container_hold(NULL));
    }
    close(pair[1]);
    assert_int_equal(read(pair[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(pair[0]);
    assert_int_equal(status, 0);
}

/* Where it has namespaces of its user's own, a pipe says so before it waits. */
static void says_when_it_can_be_entered(void **state)
{
    (void)state;
    int status;
    char text[16];
    AUTO_FREE char *dir = new_dir("ready"), *path = mem_printf("%s/ready", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        _exit(container_hold(path));
    ssize_t n = read(fd, text, sizeof text - 1);
    assert_true(n > 1);
    text[n - 1] = '\0';
    assert_int_equal(strtol(text, NULL, 10), pid);
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(fd);
}

/* In a chroot the kernel makes none for who is not root. */
static void says_that_it_has_no_namespace(void **state)
{
    (void)state;
    int status;
    char text[16];
    if (geteuid() != 0)
        skip();
    AUTO_FREE char *dir = new_dir("refused"), *path = mem_printf("%s/ready", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(chown(path, 65534, 65534), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        _exit(chroot(dir) != 0 || chdir("/") != 0 || setresuid(65534, 65534, 65534) != 0
                  ? 2
                  : container_hold("/ready"));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 1);
    ssize_t n = read(fd, text, sizeof text - 1);
    assert_true(n > 1);
    text[n - 1] = '\0';
    assert_int_equal(strtol(text, NULL, 10), -EPERM);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_that_podman_is_not_there),
        cmocka_unit_test(refuses_what_cannot_be_shown),
        cmocka_unit_test(leaves_what_no_container_was_started_with),
        cmocka_unit_test(ends_no_process_of_others),
        cmocka_unit_test(is_removed_once),
        cmocka_unit_test(waits_until_it_is_told_to_end),
        cmocka_unit_test(says_when_it_can_be_entered),
        cmocka_unit_test(says_that_it_has_no_namespace),
    };
    return cmocka_run_group_tests(tests, make_top, remove_top);
}
