/* A plain fork: the launcher is small, and what has to happen between fork and exec (own session,
 * parent-death signal, signal dispositions, processors) is more than posix_spawn can say.
 * Everything that allocates or searches is done before; the child only makes system calls. */
#include "launch/rank_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *env_get(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static bool may_run(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    if (S_ISREG(st.st_mode) && access(path, X_OK) == 0)
        return true;
    errno = EACCES;
    return false;
}

const char *rank_spawn_find(struct arena *arena, const char *name, char *const *env)
{
    if (strchr(name, '/'))
        return may_run(name) ? name : NULL;
    const char *path = env_get(env, "PATH");
    int why = ENOENT;
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at;) {
        size_t len = strcspn(at, ":");
        const char *full = arena_printf(arena, "%.*s%s%s", (int)len, at, len > 0 ? "/" : "", name);
        if (*name && may_run(full))
            return full;
        why = errno == EACCES ? EACCES : why;
        at = at[len] == ':' ? at + len + 1 : NULL;
    }
    errno = why;
    return NULL;
}

/* ---- the child ---- */

static void reset_signals(void)
{
    struct sigaction plain = { .sa_handler = SIG_DFL };
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &plain, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* fd becomes 0, 1 or 2. It may be that one already, then it only has to survive exec. */
static bool put_at(int fd, int to)
{
    if (fd == to)
        return fcntl(fd, F_SETFD, 0) == 0;
    return dup2(fd, to) == to;
}

static bool put_streams(const struct rank_spawn *spawn)
{
    int out = spawn->out, err = spawn->err;
    /* out and err may be our own 1 and 2, also crosswise: neither may be overwritten too early. */
    if (out == STDERR_FILENO)
        out = fcntl(out, F_DUPFD_CLOEXEC, 3);
    if (err == STDOUT_FILENO)
        err = fcntl(err, F_DUPFD_CLOEXEC, 3);
    return put_at(spawn->in, STDIN_FILENO) && put_at(out, STDOUT_FILENO) &&
           put_at(err, STDERR_FILENO);
}

_Noreturn static void be_rank(const struct rank_spawn *spawn, pid_t launcher)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(127); /* it died before the line above */
    (void)setsid();
    if (put_streams(spawn)) {
        (void)syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
        for (size_t i = 0; i < spawn->n_keep; i++)
            (void)fcntl(spawn->keep[i], F_SETFD, 0);
        if (spawn->cpus)
            (void)sched_setaffinity(0, sizeof *spawn->cpus, spawn->cpus);
        if (spawn->files && spawn->files->rlim_max > 0)
            (void)setrlimit(RLIMIT_NOFILE, spawn->files);
        reset_signals();
        (void)execve(spawn->program, spawn->argv, spawn->env);
    }
    struct rank_failure failure = { .local_rank = spawn->local_rank, .number = errno };
    if (write(spawn->failures, &failure, sizeof failure) < 0)
        _exit(126);
    _exit(127);
}

pid_t rank_spawn(const struct rank_spawn *spawn)
{
    sigset_t all, before;
    pid_t launcher = getpid();
    /* A signal that came to the child while the loop's handlers are in place would be written to
     * the loop's own pipe. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        be_rank(spawn, launcher);
    int why = errno;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return pid;
}
