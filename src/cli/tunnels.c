/* A process of ours for each machine holds one ssh: it reads what that says, waits for its end and
 * starts the next, slower and slower while none lasts. Both end with who opened the tunnel. */
#include "cli/tunnels.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEADY_MS 10000u /* a connection that lasted so long was a good one */
#define WAIT_MS   1000u  /* then longer and longer */
#define WAIT_MOST 15000u
#define SAID_MAX  4096u

struct tunnels {
    size_t n;
    pid_t *keepers; /* 0: none */
};

/* ---- one of them, in a process of its own ---- */

static void become_ssh(char **argv, int said, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (getppid() != parent || dup2(nowhere, 0) < 0 || dup2(nowhere, 1) < 0 || dup2(said, 2) < 0)
        _exit(126);
    execvp(argv[0], argv);
    dprintf(2, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* All that it says until it has closed that; of much the end. */
static void read_said(int fd, struct buf *said)
{
    char piece[512];
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0 && said->len + (size_t)n > SAID_MAX)
            buf_clear(said);
        buf_add(said, piece, n > 0 ? (size_t)n : 0);
    }
}

static void run_ssh(char **argv, struct buf *said)
{
    int fds[2];
    pid_t self = getpid();
    if (pipe2(fds, O_CLOEXEC) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        become_ssh(argv, fds[1], self);
    close(fds[1]);
    read_said(fds[0], said);
    close(fds[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Its last line, which says why. */
static const char *last_line(struct buf *said)
{
    while (said->len && strchr("\r\n ", said->data[said->len - 1]))
        said->data[--said->len] = '\0';
    const char *text = buf_str(said), *line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

static void keep(const char *name, char **argv)
{
    char before[256] = "";
    for (uint64_t wait = WAIT_MS;;) {
        AUTO_BUF struct buf said = BUF_INIT(2 * SAID_MAX);
        uint64_t since = clock_mono_ms();
        run_ssh(argv, &said);
        const char *why = last_line(&said);
        if (clock_mono_ms() - since >= STEADY_MS) {
            wait = WAIT_MS;
            before[0] = '\0';
        }
        char now[sizeof before];
        snprintf(now, sizeof now, "the way by ssh has ended%s%s", *why ? ": " : "", why);
        if (strcmp(now, before) != 0)
            fprintf(stderr, "%s: %s; it is tried again\n", name, now);
        memcpy(before, now, sizeof before);
        poll(NULL, 0, (int)wait);
        wait = wait * 2 < WAIT_MOST ? wait * 2 : WAIT_MOST;
    }
}

/* ---- all ---- */

static char **argv_of(struct arena *arena, const struct tunnels_config *config, size_t i,
                      struct err *err)
{
    size_t n;
    char **argv = ssh_words(arena, config->ssh, 20, &n, err);
    if (!argv)
        return NULL;
    const char *const more[] = {
        "-N", "-T",
        "-o", "BatchMode=yes",
        "-o", "ControlPath=none", /* a connection of its own, which ends when it does */
        "-o", "ExitOnForwardFailure=yes",
        "-o", "ServerAliveInterval=5",
        "-o", "ServerAliveCountMax=2",
        "-o", "ConnectTimeout=15",
        "-R", arena_printf(arena, "127.0.0.1:%u:%s", config->port, config->place),
        "--", config->to[i],
    };
    for (size_t j = 0; j < ARRAY_LEN(more); j++)
        argv[n++] = arena_strdup(arena, more[j]);
    argv[n] = NULL;
    return argv;
}

static void become_keeper(const char *name, char **argv, pid_t parent)
{
    static const int back[] = { SIGPIPE, SIGINT, SIGTERM, SIGCHLD, SIGHUP };
    sigset_t none;
    for (size_t i = 0; i < ARRAY_LEN(back); i++)
        (void)signal(back[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent)
        keep(name, argv);
    _exit(126);
}

struct tunnels *tunnels_open(struct arena *arena, const struct tunnels_config *config,
                             struct err *err)
{
    struct tunnels *all = ARENA_NEW(arena, struct tunnels);
    pid_t self = getpid();
    all->keepers = ARENA_ARRAY(arena, config->n + 1, pid_t);
    for (size_t i = 0; i < config->n; i++) {
        char **argv = argv_of(arena, config, i, err);
        pid_t pid = argv ? fork() : -1;
        if (pid == 0)
            become_keeper(config->names[i], argv, self);
        if (pid < 0) {
            if (argv)
                err_sys(err, "starting a process for %s", config->names[i]);
            tunnels_close(all);
            return NULL;
        }
        all->keepers[all->n++] = pid;
    }
    return all;
}

void tunnels_drop(struct tunnels *all, size_t i)
{
    if (!all->keepers[i])
        return;
    (void)kill(all->keepers[i], SIGTERM);
    while (waitpid(all->keepers[i], NULL, 0) < 0 && errno == EINTR)
        ;
    all->keepers[i] = 0;
}

size_t tunnels_left(const struct tunnels *all)
{
    size_t left = 0;
    for (size_t i = 0; i < all->n; i++)
        left += all->keepers[i] != 0;
    return left;
}

void tunnels_wait(void)
{
    sigset_t set, before;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &before);
    while (sigwait(&set, &number) != 0)
        ;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void tunnels_close(struct tunnels *all)
{
    for (size_t i = 0; all && i < all->n; i++)
        tunnels_drop(all, i);
}
