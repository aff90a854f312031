/* The guard: a fork of the launcher taken while that is still small. It holds nothing but a pipe
 * and a descriptor of the launcher, sleeps, and sweeps when either says that the launcher is gone.
 * It carries no mark of its own (the environment in /proc is the one the launcher was started
 * with), so no sweep of its own launcher finds it. */
#include "launch/guard.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SWEEP_MS 2000u
#define LOOK_NS  5000000L /* between two looks */

struct sweep {
    pid_t self, except;
    size_t found;
};

static void kill_one(void *arg, pid_t pid)
{
    struct sweep *sweep = arg;
    if (pid == sweep->self || pid == sweep->except)
        return;
    if (kill(pid, SIGKILL) == 0)
        sweep->found++;
}

/* A process in the middle of exec shows no environment: only a second clean look counts. */
size_t guard_sweep(const char *cookie, pid_t except)
{
    uint64_t until = clock_mono_ms() + SWEEP_MS;
    size_t first = 0;
    unsigned looks = 0, clean = 0;
    for (;;) {
        struct sweep sweep = { .self = getpid(), .except = except };
        stray_each(cookie, kill_one, &sweep);
        first = looks++ == 0 ? sweep.found : first;
        clean = sweep.found == 0 ? clean + 1 : 0;
        if (clean == 2 || clock_mono_ms() > until)
            return first;
        (void)nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
    }
}

static int place_at(int fd, int to)
{
    return fd < 0 || dup2(fd, to) < 0 ? -1 : to;
}

/* Only the two descriptors stay: the guard must not keep pipes, sockets or a terminal open. */
static void close_others(int *pipe_end, int *launcher)
{
    int high_pipe = fcntl(*pipe_end, F_DUPFD_CLOEXEC, 10);
    int high_launcher = *launcher < 0 ? -1 : fcntl(*launcher, F_DUPFD_CLOEXEC, 10);
    *pipe_end = place_at(high_pipe, 0);
    *launcher = place_at(high_launcher, 1);
    unsigned from = *launcher < 0 ? 1u : 2u;
    if (syscall(SYS_close_range, from, ~0u, 0u) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = (int)from; fd < most; fd++)
        (void)close(fd);
}

static void await_end(int pipe_end, int launcher)
{
    struct pollfd fds[2] = { { .fd = pipe_end, .events = POLLIN },
                             { .fd = launcher, .events = POLLIN } };
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        continue;
}

_Noreturn static void be_guard(const char *cookie, int pipe_end, pid_t launcher)
{
    (void)setsid();
    (void)prctl(PR_SET_NAME, "muster-guard");
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_IGN);
    if (chdir("/") != 0)
        _exit(1); /* it would hold a directory that may have to be unmounted */
    int watched = (int)syscall(SYS_pidfd_open, launcher, 0u);
    close_others(&pipe_end, &watched);
    if (getppid() == launcher)
        await_end(pipe_end, watched);
    (void)guard_sweep(cookie, 0);
    _exit(0);
}

pid_t guard_start(const char *cookie, int *hold)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t launcher = getpid(), pid = fork();
    if (pid == 0)
        be_guard(cookie, ends[0], launcher);
    (void)close(ends[0]);
    if (pid < 0) {
        (void)close(ends[1]);
        return -1;
    }
    *hold = ends[1];
    return pid;
}
