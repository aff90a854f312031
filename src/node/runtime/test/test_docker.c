/* What is said of Docker without a daemon: of a client that is not there, of sockets at which
 * nobody listens or that refuse, and of what is not handed to one. Real containers are made by
 * tests/test_image_semantics.py. */
#include "node/runtime/docker.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/container.h"

#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HOST "DOCKER_HOST"

static char top[] = "/tmp/muster-docker.XXXXXX";

static int make_top(void **state)
{
    (void)state;
    return mkdtemp(top) && chmod(top, 0755) == 0 ? 0 : -1;
}

static int remove_top(void **state)
{
    (void)state;
    struct err err;
    return file_remove_tree(top, &err);
}

static const struct container container = { .program = CONTAINER_DOCKER, .holder = "/bin/true" };

static char *new_dir(const char *name)
{
    struct err err;
    char *dir = mem_printf("%s/%s", top, name);
    assert_int_equal(file_mkdirs(dir, 0755, &err), 0);
    return dir;
}

static void says_that_it_is_not_there(void **state)
{
    (void)state;
    char why[ROOT_WHY] = "";
    pid_t pid = 0;
    AUTO_FREE char *dir = new_dir("none"), *path = mem_strdup(getenv("PATH"));
    const struct root root = { .tree = top, .dir = dir, .at = top, .container = &container };
    setenv("PATH", top, 1);
    int rc = container_start(&root, &pid, why);
    container_remove(dir);
    setenv("PATH", path, 1);
    assert_int_equal(rc, -1);
    assert_int_equal(strncmp(why, "docker: cannot be started", 25), 0);
    assert_true(container_is_of(dir)); /* its end is to be tried again */
    assert_true(container_is_bare(&container));
}

static void hands_on_nothing_of_others(void **state)
{
    (void)state;
    char why[ROOT_WHY] = "";
    pid_t pid = 0;
    AUTO_FREE char *dir = new_dir("others");
    const struct fs_user somebody = { .uid = 1, .gid = 1 };
    const struct root_bind bind = { .from = "/tmp", .at = "/a", .user = &somebody };
    const struct root root = {
        .tree = top, .dir = dir, .at = top, .binds = &bind, .n_binds = 1, .container = &container
    };
    assert_int_equal(container_start(&root, &pid, why), -1);
    assert_non_null(strstr(why, "other accounts"));
    assert_false(container_is_of(dir)); /* it was not asked */
}

/* A client that cannot reach its daemon: the one line of all that it says is told. */
static void tells_why_the_client_failed(void **state)
{
    (void)state;
    char why[ROOT_WHY] = "";
    pid_t pid = 0;
    if (access("/usr/bin/docker", X_OK) != 0)
        skip();
    AUTO_FREE char *dir = new_dir("gone");
    const struct root root = { .tree = top, .dir = dir, .at = top, .container = &container };
    setenv(HOST, "unix:///nonexistent/docker.sock", 1);
    int rc = container_start(&root, &pid, why);
    container_remove(dir);
    unsetenv(HOST);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(why, "unix:///nonexistent/docker.sock"));
    assert_null(strchr(why, '\n'));
    assert_true(container_is_of(dir));
}

/* What root and another user are told of it. */
static int ask_as(uid_t uid, const char *host, struct err *err)
{
    int pair[2], status;
    struct err said = { .code = ERR_NONE };
    assert_int_equal(pipe(pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool became =
            uid == geteuid() || (setgroups(0, NULL) == 0 && setresuid(uid, uid, uid) == 0);
        setenv(HOST, host, 1);
        int rc = became ? docker_answers(&said) : 2;
        _exit(write(pair[1], &said, sizeof said) == sizeof said ? (rc == 0 ? 0 : 1) : 3);
    }
    close(pair[1]);
    assert_int_equal(read(pair[0], err, sizeof *err), sizeof *err);
    close(pair[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static int listen_at(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static void sockets_of_its_daemon(void **state)
{
    (void)state;
    struct err none, refused, denied;
    AUTO_FREE char *path = mem_printf("%s/sock", top), *host = mem_printf("unix://%s", path);
    assert_int_equal(ask_as(geteuid(), host, &none), 1);
    int fd = listen_at(path);
    assert_int_equal(ask_as(geteuid(), host, &refused), 0);
    assert_int_equal(chmod(path, 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(ask_as(65534, host, &denied), 1);
        assert_non_null(strstr(denied.what, path));
        assert_true(*denied.hint && strcmp(denied.hint, none.hint) != 0);
    }
    close(fd); /* the file is left, as by a daemon that was killed */
    assert_int_equal(ask_as(geteuid(), host, &refused), 1);
    assert_non_null(strstr(refused.what, path));
    assert_string_equal(refused.hint, none.hint);
}

/* Those are tried by a container alone. */
static void daemons_elsewhere_are_not_asked(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(ask_as(geteuid(), "tcp://192.0.2.1:2375", &err), 0);
    assert_int_equal(ask_as(geteuid(), "ssh://nobody@192.0.2.1", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_that_it_is_not_there),
        cmocka_unit_test(hands_on_nothing_of_others),
        cmocka_unit_test(tells_why_the_client_failed),
        cmocka_unit_test(sockets_of_its_daemon),
        cmocka_unit_test(daemons_elsewhere_are_not_asked),
    };
    return cmocka_run_group_tests(tests, make_top, remove_top);
}
