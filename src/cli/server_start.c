/* A detached server: a child in its own session with the log file as its output. It says "ok" on a
 * pipe when it answers; the end of the pipe without that word means that it ended, and the last
 * line of its log says why. */
#include "cli/server_start.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ARGS_MAX     64
#define LOG_KEEP_MAX (16u << 20)

static int open_log(const char *path, struct err *err)
{
    struct stat st;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    if (stat(path, &st) == 0 && st.st_size > LOG_KEEP_MAX)
        flags |= O_TRUNC;
    int fd = open(path, flags, 0600);
    return fd < 0 ? err_sys(err, "%s", path) : fd;
}

struct child {
    int log, ready;
    char **argv;
};

/* Between fork and exec: only calls that are safe there. */
_Noreturn static void become_server(const struct child *c)
{
    static const char failed[] = "cannot run this program again\n";
    int null = open("/dev/null", O_RDONLY);
    setsid();
    if (fork() != 0)
        _exit(0);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(c->log, STDOUT_FILENO);
    dup2(c->log, STDERR_FILENO);
    fcntl(c->ready, F_SETFD, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    execv("/proc/self/exe", c->argv);
    if (write(STDERR_FILENO, failed, sizeof failed - 1) < 0)
        _exit(126);
    _exit(127);
}

static int wait_ready(int fd)
{
    char word[8];
    ssize_t n;
    do {
        n = read(fd, word, sizeof word);
    } while (n < 0 && errno == EINTR);
    return n > 0 ? 0 : -1;
}

/* What the server said last, from where its log ended before; "error: " and the date are left out.
 */
static int say_why(const char *path, off_t from, struct err *err)
{
    char text[4096], *line, *error;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, from);
    if (n <= 0) {
        err_set(err, ERR_UNAVAILABLE, "the server did not start");
        return err_hint(err, "%s says why", path);
    }
    text[n] = '\0';
    error = strstr(text, "error: ");
    line = error ? error + strlen("error: ") : text;
    char *hint = strchr(line, '\n');
    if (hint)
        *hint++ = '\0';
    err_set(err, ERR_UNAVAILABLE, "the server did not start: %s", line);
    if (!hint || strncmp(hint, "  ", 2) != 0)
        return err_hint(err, "%s says more", path);
    hint[strcspn(hint, "\n")] = '\0';
    return err_hint(err, "%s", hint + 2);
}

static char **make_argv(struct cli *cli, const char *const *args)
{
    char **argv = ARENA_ARRAY(cli->arena, ARGS_MAX + 5, char *);
    size_t n = 0;
    argv[n++] = arena_strdup(cli->arena, "muster");
    argv[n++] = arena_strdup(cli->arena, "server");
    argv[n++] = arena_strdup(cli->arena, "run");
    argv[n++] = arena_printf(cli->arena, "--state-dir=%s", cli->state_dir);
    for (size_t i = 0; args && args[i] && i < ARGS_MAX; i++)
        argv[n++] = arena_strdup(cli->arena, args[i]);
    return argv;
}

int server_start(struct cli *cli, const char *const *args, bool *ours, struct err *err)
{
    int ends[2], status;
    char number[16];
    AUTO_FREE char *log_path = file_join(cli->state_dir, "server.log");
    if (file_mkdirs(cli->state_dir, 0700, err) < 0)
        return err_hint(err, "choose another place with --state-dir or MUSTER_STATE_DIR");
    AUTO_CLOSE int log = open_log(log_path, err);
    if (log < 0)
        return -1;
    off_t from = lseek(log, 0, SEEK_END);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    struct child child = { .log = log, .ready = ends[1], .argv = make_argv(cli, args) };
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("MUSTER_READY_FD", number, 1);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become_server(&child);
    unsetenv("MUSTER_READY_FD");
    close(ends[1]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    int rc = pid < 0 ? err_sys(err, "fork") : wait_ready(ends[0]);
    close(ends[0]);
    call_drop(cli);
    *ours = rc == 0;
    if (rc == 0 || pid < 0)
        return rc;
    return call_server_lives(cli) ? 0 : say_why(log_path, from, err);
}
