/* The same calls as for a task, with an empty directory for an image, so that what is said here is
 * what a task would meet. For a server of root's the user namespace is tried as another user:
 * that is who would need it. */
#include "node/runtime_probe.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/container.h"
#include "node/runtime/docker.h"
#include "node/runtime/pids.h"
#include "node/runtime/podman.h"
#include "node/view.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static bool in_path(const char *name)
{
    const char *at = getenv("PATH");
    for (at = at ? at : "/usr/bin:/bin"; *at; at += *at == ':') {
        size_t len = strcspn(at, ":");
        AUTO_FREE char *path = mem_printf("%.*s/%s", (int)len, at, name);
        if (access(path, X_OK) == 0)
            return true;
        at += len;
    }
    return false;
}

/* 0, or the errno of it. */
static int try_user_namespace(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 &&
            (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0))
            _exit(errno);
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return EIO;
    return WEXITSTATUS(status);
}

#define MANY "many"
#define ONE  "one"

static int enter(const struct root *root, char why[ROOT_WHY])
{
    pid_t holder;
    bool user_ns = geteuid() != 0;
    const struct ids ids = ids_find(geteuid(), NULL);
    if (root->container && container_start(root, &holder, why) != 0)
        return -1;
    if (root->container && !container_is_bare(root->container))
        return view_enter_container(holder, why);
    int rc = root->container ? view_join(holder, &ids, false, why) : view_leave(&ids, false, why);
    return rc != 0 ? -1 : view_enter_root(root, user_ns, why);
}

/* *many: there are more users in there than its root. */
static int try_root(const struct root *root, bool *many, struct err *err)
{
    char why[ROOT_WHY] = "it could not be tried";
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        if (enter(root, why) == 0)
            snprintf(why, sizeof why, "%s", ids_has_many() ? MANY : ONE);
        _exit(write(pair[1], why, sizeof why) != sizeof why);
    }
    close(pair[1]);
    bool told = pid > 0 && read(pair[0], why, sizeof why) == sizeof why;
    close(pair[0]);
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
    if (!told || (strcmp(why, MANY) != 0 && strcmp(why, ONE) != 0))
        return err_set(err, ERR_CANNOT, "%s", why);
    *many = strcmp(why, MANY) == 0;
    return 0;
}

/* Below a new directory there. */
static int try_in(const char *dir, const struct container *container, bool *many, struct err *err)
{
    static const char *const below[] = { "tree", "at", "roots/try/up", "roots/try/work" };
    AUTO_FREE char *place = mem_printf("%s/try.XXXXXX", dir);
    if (file_mkdirs(dir, 0700, err) != 0)
        return -1;
    if (!mkdtemp(place))
        return err_sys(err, "%s", place);
    AUTO_FREE char *tree = mem_printf("%s/tree", place), *at = mem_printf("%s/at", place);
    AUTO_FREE char *roots = mem_printf("%s/roots", place), *own = mem_printf("%s/try", roots);
    const struct root root = { .tree = tree, .dir = own, .at = at, .container = container };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(below); i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", place, below[i]);
        rc = file_mkdirs(path, 0755, err);
    }
    if (rc == 0)
        rc = try_root(&root, many, err);
    container_sweep(roots);
    (void)file_remove_tree(place, NULL);
    return rc;
}

/* unshare(2): a limit is ENOSPC; EPERM has many causes, of which a chroot is one. */
static int refuse_user_namespace(int number, struct err *err)
{
    err_set(err, ERR_CANNOT, "user namespaces cannot be made: %s", strerror(number));
    if (number == ENOSPC)
        return err_hint(err, "sysctl user.max_user_namespaces=10000");
    return err_hint(err, "leave the chroot; in a container, run that with --privileged; else "
                         "sysctl kernel.unprivileged_userns_clone=1 or "
                         "kernel.apparmor_restrict_unprivileged_userns=0");
}

static int can_pull(struct err *err)
{
    if (in_path("skopeo"))
        return 0;
    err_set(err, ERR_CANNOT, "skopeo, which pulls images, is not installed");
    return err_hint(err, "install the package skopeo");
}

static int bwrap_works(const char *dir, bool *many, struct err *err)
{
    int number = try_user_namespace();
    return number != 0 ? refuse_user_namespace(number, err) : try_in(dir, NULL, many, err);
}

static int has_podman(struct err *err)
{
    if (in_path("podman"))
        return can_pull(err);
    err_set(err, ERR_CANNOT, "podman is not installed");
    return err_hint(err, "install the package podman");
}

static int works_in(enum container_program program, const char *dir, bool *many, struct err *err)
{
    char holder[CONTAINER_PATH];
    const struct container container = { .program = program, .holder = container_holder(holder) };
    return try_in(dir, &container, many, err);
}

static int podman_works(const char *dir, bool *many, struct err *err)
{
    if (works_in(CONTAINER_PODMAN, dir, many, err) == 0)
        return 0;
    return podman_needs_runc(PODMAN_CGROUPS) ? err_hint(err, "install the package runc") : -1;
}

static int has_docker(struct err *err)
{
    if (in_path("docker"))
        return docker_answers(err) == 0 ? can_pull(err) : -1;
    err_set(err, ERR_CANNOT, "docker is not installed");
    return err_hint(err, "install the package docker.io");
}

static int docker_works(const char *dir, bool *many, struct err *err)
{
    return works_in(CONTAINER_DOCKER, dir, many, err);
}

struct probe {
    const char *name;
    /* 0, or -1 with what is missing and what to do. */
    int (*is_there)(struct err *);
    /* Tried for real. dir: where images would be kept. *many: tasks have more users in there than
     * root. */
    int (*works)(const char *dir, bool *many, struct err *);
};
static const struct probe probes[] = { { .name = "host" },
                                       { "bwrap", can_pull, bwrap_works },
                                       { "podman", has_podman, podman_works },
                                       { "docker", has_docker, docker_works } };

static int say_all(const char *dir, bool once)
{
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
        struct err err = { .code = ERR_NONE };
        bool many = true;
        int rc = probes[i].is_there ? probes[i].is_there(&err) : 0;
        if (rc == 0 && probes[i].works && !(once && found)) {
            rc = probes[i].works(dir, &many, &err);
            found = found || rc == 0;
        }
        bool own_pids = probes[i].works == bwrap_works || probes[i].works == docker_works;
        if (rc == 0)
            printf("%s works%s%s\n", probes[i].name, many ? "" : " " RUNTIME_PROBE_ONE_USER,
                   own_pids && !pids_work() ? " " RUNTIME_PROBE_SHARES_PIDS : "");
        else
            printf("%s no %s%s%s\n", probes[i].name, err.what, *err.hint ? ": " : "", err.hint);
    }
    return fflush(stdout) != 0;
}

int runtime_probe_all(const char *dir)
{
    return say_all(dir, false);
}

int runtime_probe_first(const char *dir)
{
    return say_all(dir, true);
}
