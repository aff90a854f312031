/* Fork and exec of the parked interpreter: twice Python (warm.py says why), first with a command
 * that does nothing. What it has to know beforehand lies in its socket when it starts; its own text
 * is an archive in memory that PYTHONPATH leads to. */
#include "launch/warm_start.h"

#include "base/buf.h"
#include "base/mem.h"
#include "launch/guard.h"
#include "launch/rank_spawn.h"
#include "launch/warm_pack.h"
#include "launch/warm_zip.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define LINE_BYTES_MAX (128u << 10) /* what a message of a socket takes */

/* keep: the interpreter's end of the socket, and the archive. */
static _Noreturn void become_interpreter(const char *program, char *name, char *const *env,
                                         const int keep[2])
{
    char unbuffered[] = "-u", command[] = "-c", nothing[] = "pass";
    char *argv[] = { name, unbuffered, command, nothing, NULL };
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(127);
    (void)close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    for (int i = 0; i < 2; i++)
        if (fcntl(keep[i], F_SETFD, 0) < 0)
            _exit(127);
    (void)execve(program, argv, env);
    _exit(127);
}

/* The ranks' environment with the archive in front of PYTHONPATH. */
static char **make_env(struct arena *arena, const struct warm_start *start, const int keep[2])
{
    static const char path_is[] = "PYTHONPATH=", mark_is[] = GUARD_COOKIE "=";
    size_t n = 0, out = 0;
    const char *path = "";
    bool marked = false;
    while (start->env[n])
        n++;
    char **env = ARENA_ARRAY(arena, n + 4, char *);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(start->env[i], path_is, sizeof path_is - 1) == 0) {
            path = start->env[i] + sizeof path_is - 1;
            continue;
        }
        marked = marked || strncmp(start->env[i], mark_is, sizeof mark_is - 1) == 0;
        env[out++] = start->env[i];
    }
    if (!marked)
        env[out++] = arena_printf(arena, "%s%s", mark_is, start->cookie);
    env[out++] =
        arena_printf(arena, "%s/proc/self/fd/%d%s%s", path_is, keep[1], *path ? ":" : "", path);
    env[out++] = arena_printf(arena, "MUSTER_WARM=%d,%d,%d,1,%s", keep[0], keep[1], (int)getpid(),
                              GUARD_COOKIE);
    return env;
}

/* The two messages that the interpreter finds in its socket: command line; modules with the ranks'
 * environment. */
static int send_first(const struct warm_start *start, int fd)
{
    AUTO_BUF struct buf line = BUF_INIT(LINE_BYTES_MAX);
    /* An empty message would be the end of the socket. */
    const char *modules = *start->modules ? start->modules : ",";
    for (char *const *arg = start->argv; *arg; arg++)
        buf_add(&line, *arg, strlen(*arg) + 1);
    AUTO_CLOSE int given = warm_pack_request(NULL, start->env);
    if (line.overflow || given < 0 || warm_send(fd, line.data, line.len, NULL, 0) < 0)
        return -1;
    return warm_send(fd, modules, strlen(modules), &given, 1);
}

static pid_t fork_interpreter(struct arena *arena, const struct warm_start *start,
                              const char *program, const int keep[2])
{
    char **env = make_env(arena, start, keep);
    sigset_t all, before;
    pid_t launcher = getpid();
    /* A signal to the child must not reach the loop's handlers. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != launcher)
            _exit(127);
        if (start->files && start->files->rlim_max > 0)
            (void)setrlimit(RLIMIT_NOFILE, start->files);
        become_interpreter(program, start->argv[0], env, keep);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

pid_t warm_start(struct arena *arena, const struct warm_start *start, int *control, struct err *err)
{
    int pair[2];
    const char *program = rank_spawn_find(arena, start->argv[0], start->env);
    if (!program)
        return err_sys(err, "%s", start->argv[0]);
    AUTO_CLOSE int archive = warm_pack_bytes(launch_warm_zip, launch_warm_zip_len);
    if (archive < 0)
        return err_sys(err, "a file in memory");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, "a socket");
    AUTO_CLOSE int ours = pair[0], theirs = pair[1];
    int keep[2] = { theirs, archive };
    if (send_first(start, ours) < 0)
        return err_sys(err, "command line and environment");
    pid_t pid = fork_interpreter(arena, start, program, keep);
    if (pid < 0)
        return err_sys(err, "a process");
    *control = mem_give_fd(&ours);
    return pid;
}
