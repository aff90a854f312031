/* The child of a fork: layer_apply waits for its bytes, and whoever feeds it may not wait. It has
 * the rights of who started it, dies with it, and says how it went as a struct, in the last thing
 * that it does. */
#include "node/fetch/unpacker.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)

struct verdict {
    int rc;
    struct layer_limits limits;
    struct err err;
};

static _Noreturn void child(const struct layer *layer, int root, struct layer_limits limits,
                            int told, pid_t parent)
{
    struct verdict verdict = { .rc = -1, .limits = limits };
    (void)signal(SIGPIPE, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    verdict.rc = layer_apply(layer, root, &verdict.limits, &verdict.err);
    (void)!file_write_all(told, &verdict, sizeof verdict);
    _exit(0);
}

int unpacker_start(struct unpacker *u, const struct layer *layer, int root,
                   const struct layer_limits *limits, struct err *err)
{
    int in[2], told[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    if (pipe2(told, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return err_sys(err, "pipe");
    }
    (void)fcntl(in[1], F_SETPIPE_SZ, PIPE_BYTES);
    (void)fcntl(in[1], F_SETFL, O_NONBLOCK);
    struct layer own = *layer;
    own.fd = in[0];
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        close(in[1]);
        close(told[0]);
        child(&own, root, *limits, told[1], self);
    }
    close(in[0]);
    close(told[1]);
    *u = (struct unpacker){ .pid = pid, .to = in[1], .told = told[0] };
    if (pid > 0)
        return 0;
    u->pid = 0;
    err_sys(err, "cannot start a process");
    unpacker_kill(u);
    return -1;
}

static void close_ends(struct unpacker *u)
{
    if (u->to >= 0)
        close(u->to);
    if (u->told >= 0)
        close(u->told);
    u->to = u->told = -1;
}

static bool hear(int fd, struct verdict *verdict)
{
    size_t n = 0;
    while (n < sizeof *verdict) {
        ssize_t got = read(fd, (char *)verdict + n, sizeof *verdict - n);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        n += got > 0 ? (size_t)got : 0;
    }
    return true;
}

int unpacker_end(struct unpacker *u, struct layer_limits *limits, struct err *err)
{
    struct verdict verdict;
    bool heard = hear(u->told, &verdict);
    unpacker_kill(u);
    if (!heard)
        return err_set(err, ERR_SYSTEM, "unpacking a layer was ended");
    *limits = verdict.limits;
    if (verdict.rc != 0 && err)
        *err = verdict.err;
    return verdict.rc;
}

void unpacker_kill(struct unpacker *u)
{
    close_ends(u);
    if (u->pid <= 0)
        return;
    (void)kill(u->pid, SIGKILL); /* gzip ends at the end of its pipes */
    while (waitpid(u->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    u->pid = 0;
}
