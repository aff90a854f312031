/* The same calls as for a task, with an empty directory for an image, so that what is said here is
 * what a task would meet. For a server of root's the user namespace is tried as another user:
 * that is who would need it. */
#include "node/runtimes.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/pids.h"
#include "node/view.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static int host_works(const char *dir, bool *many, struct err *err)
{
    (void)dir;
    (void)many;
    (void)err;
    return 0;
}

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

/* *many: there are more users in there than its root. */
static int try_root(const char *dir, bool *many, struct err *err)
{
    static const char *const below[] = { "tree", "up", "work", "at" };
    AUTO_FREE char *tree = mem_printf("%s/tree", dir), *at = mem_printf("%s/at", dir);
    for (size_t i = 0; i < ARRAY_LEN(below); i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", dir, below[i]);
        if (mkdir(path, 0755) != 0)
            return err_sys(err, "%s", path);
    }
    const struct root root = { .tree = tree, .dir = dir, .at = at };
    char why[ROOT_WHY] = "it could not be tried";
    const struct ids ids = ids_find(geteuid(), NULL);
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        bool user_ns = geteuid() != 0;
        if (view_leave(&ids, false, why) == 0 && view_enter_root(&root, user_ns, why) == 0)
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

static int bwrap_works(const char *dir, bool *many, struct err *err)
{
    AUTO_FREE char *place = mem_printf("%s/try.XXXXXX", dir);
    if (!in_path("skopeo")) {
        err_set(err, ERR_CANNOT, "skopeo, which pulls images, is not installed");
        return err_hint(err, "install the package skopeo");
    }
    int number = try_user_namespace();
    if (number != 0)
        return refuse_user_namespace(number, err);
    if (file_mkdirs(dir, 0700, err) != 0)
        return -1;
    if (!mkdtemp(place))
        return err_sys(err, "%s", place);
    int rc = try_root(place, many, err);
    (void)file_remove_tree(place, NULL);
    return rc;
}

const struct runtime runtimes[] = { { "host", host_works }, { "bwrap", bwrap_works } };
const size_t n_runtimes = ARRAY_LEN(runtimes);

int runtimes_main(const char *dir)
{
    for (size_t i = 0; i < n_runtimes; i++) {
        struct err err = { .code = ERR_NONE };
        bool many = true;
        if (runtimes[i].works(dir, &many, &err) == 0)
            printf("%s works%s%s\n", runtimes[i].name, many ? "" : " " RUNTIMES_ONE_USER,
                   runtimes[i].works == bwrap_works && !pids_work() ? " " RUNTIMES_SHARES_PIDS
                                                                    : "");
        else
            printf("%s no %s%s%s\n", runtimes[i].name, err.what, *err.hint ? ": " : "", err.hint);
    }
    return fflush(stdout) != 0;
}
