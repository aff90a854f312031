/* The archive is opened with the agent's rights, because nobody else reads it; all else happens in
 * the child, as the account. It unpacks under another name and renames, so that a half tree is
 * never taken for a whole one, and tells its failure through a pipe. */
#include "node/unpack.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/untar.h"
#include "node/fetch/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define UNPACK_S 600u

struct unpack {
    struct unpack_sink sink;
    uv_poll_t poll;
    pid_t pid;
    int pidfd, told;
    char *archive, *half;
    const struct account *account;
};
struct child_result { /* shorter than PIPE_BUF */
    enum err_code code;
    char what[sizeof((struct err *)NULL)->what];
};

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- the child ---- */

static char *half_of(const struct site *site)
{
    return mem_printf("%s.half", site->code_tree);
}

static int compare_hash(int archive, const char *hash, struct err *err)
{
    char hex[IMAGE_DIGEST_LEN + 1];
    if (layer_hash(archive, hex, err) != 0)
        return -1;
    if (strcmp(hex, hash) != 0)
        return err_set(err, ERR_CONFLICT, "the bytes that came are not those of this hash");
    return lseek(archive, 0, SEEK_SET) == 0 ? 0 : err_sys(err, "the archive");
}

static int fill_tree(const struct launch *launch, int archive, const char *half, struct err *err)
{
    const struct untar_limits as_it_is = { UINT64_MAX, UINT64_MAX }; /* looked at when it came */
    struct untar_summary found;
    if (file_remove_tree(half, err) != 0)
        return -1;
    AUTO_CLOSE int dir =
        mkdir(half, 0700) != 0 ? -1 : open(half, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, "%s", half);
    if (compare_hash(archive, name_of(launch->archive), err) != 0)
        return -1;
    return untar_packed(archive, dir, &as_it_is, &found, err);
}

static int make_tree(const struct site *site, const struct launch *launch, int archive,
                     struct err *err)
{
    AUTO_FREE char *half = half_of(site);
    int rc = fill_tree(launch, archive, half, err);
    if (rc == 0 && rename(half, site->code_tree) != 0)
        rc = err_sys(err, "%s", site->code_tree);
    if (rc != 0)
        (void)file_remove_tree(half, NULL);
    return rc;
}

static _Noreturn void child(const struct site *site, const struct launch *launch, int archive,
                            int told, pid_t parent)
{
    struct err err = { .code = ERR_SYSTEM };
    (void)setsid();
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(UNPACK_S);
    if (dup2(archive, STDIN_FILENO) < 0 || dup2(told, STDOUT_FILENO) < 0)
        _exit(1);
    /* not closed at once: libuv opens its own anew in every fork, by their numbers */
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    bool good = confine_drop(&site->confine) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
                getppid() == parent && confine_seal(&site->confine) == 0;
    if (good && make_tree(site, launch, STDIN_FILENO, &err) == 0)
        _exit(0);
    struct child_result text = { .code = err.code };
    snprintf(text.what, sizeof text.what, "%s", err.what);
    (void)!write(STDOUT_FILENO, &text, sizeof text);
    _exit(1);
}

/* ---- the agent ---- */

static void on_closed(uv_handle_t *handle)
{
    struct unpack *unpack = handle->data;
    free(unpack->archive);
    free(unpack->half);
    free(unpack);
}

void unpack_destroy(struct unpack *unpack)
{
    if (!unpack)
        return;
    if (unpack->pid > 0) {
        (void)kill(-unpack->pid, SIGKILL);
        (void)waitpid(unpack->pid, NULL, 0);
        AS_FS_USER(account_files(unpack->account));
        (void)file_remove_tree(unpack->half, NULL);
    }
    uv_close((uv_handle_t *)&unpack->poll, on_closed);
    close(unpack->pidfd);
    close(unpack->told);
}

static void say_why(const struct unpack *unpack, int end, struct err *err)
{
    struct child_result text;
    const char *name = name_of(unpack->archive);
    if (read(unpack->told, &text, sizeof text) != (ssize_t)sizeof text) {
        err_set(err, ERR_SYSTEM, "unpacking the code was ended by signal %d",
                WIFSIGNALED(end) ? WTERMSIG(end) : 0);
    } else if (text.code == ERR_CONFLICT) {
        (void)unlink(unpack->archive);
        err_set(err, ERR_CANNOT,
                "the kept code sha256:%.12s... was changed on disk and is dropped: send it again",
                name);
    } else {
        text.what[sizeof text.what - 1] = '\0';
        err_set(err, text.code, "the code sha256:%.12s...: %s", name, text.what);
    }
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct unpack *unpack = poll->data;
    struct err err;
    int end;
    if (waitpid(unpack->pid, &end, WNOHANG) != unpack->pid)
        return;
    unpack->pid = 0;
    uv_poll_stop(poll);
    bool good = WIFEXITED(end) && WEXITSTATUS(end) == 0;
    if (!good)
        say_why(unpack, end, &err);
    unpack->sink.done(unpack->sink.arg, good ? NULL : &err);
}

static int open_archive(const char *path, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return err_set(err, ERR_CANNOT, "the code sha256:%.12s... is not kept any more: send it again",
                   name_of(path));
}

struct unpack *unpack_start(const struct site *site, const struct launch *launch,
                            struct unpack_sink sink, struct err *err)
{
    int pair[2];
    AUTO_CLOSE int archive = open_archive(launch->archive, err);
    if (archive < 0)
        return NULL;
    if (pipe2(pair, O_CLOEXEC) != 0) {
        err_sys(err, "pipe");
        return NULL;
    }
    pid_t self = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child(site, launch, archive, pair[1], self);
    close(pair[1]);
    if (pid < 0) {
        err_sys(err, "cannot start a process");
        close(pair[0]);
        return NULL;
    }
    struct unpack *unpack = mem_new(sizeof *unpack);
    *unpack = (struct unpack){ .sink = sink, .pid = pid, .told = pair[0] };
    unpack->archive = mem_strdup(launch->archive);
    unpack->half = half_of(site);
    unpack->account = site->confine.account;
    unpack->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    unpack->poll.data = unpack;
    if (unpack->pidfd < 0 || uv_poll_init(site->loop, &unpack->poll, unpack->pidfd) != 0)
        BUG("a process cannot be polled");
    uv_poll_start(&unpack->poll, UV_READABLE, on_end);
    return unpack;
}
