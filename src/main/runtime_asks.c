/* Asks muster-node, as a child whose output is read to its end before the server's loop begins; it
 * ends itself by an alarm when it hangs. */
#include "main/runtime_asks.h"

#include "base/buf.h"
#include "base/mem.h"
#include "node/runtime_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_MOST 20
#define TEXT_MOST    4096u

static _Noreturn void child(const char *program, const char *verb, const char *dir, int out)
{
    if (dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
    (void)alarm(SECONDS_MOST);
    (void)execl(program, "muster-node", verb, dir, (char *)NULL);
    _exit(127);
}

static bool read_all(const char *program, const char *verb, const char *dir, struct buf *text)
{
    int pipes[2], status = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        child(program, verb, dir, pipes[1]);
    close(pipes[1]);
    char piece[512];
    for (ssize_t n;
         pid > 0 && ((n = read(pipes[0], piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR));)
        buf_add(text, piece, n > 0 ? (size_t)n : 0);
    close(pipes[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void take_line(struct arena *arena, char *line, struct runtime_checks *checks)
{
    const char *name = strsep(&line, " "), *word = strsep(&line, " ");
    enum job_runtime runtime = runtime_named(name);
    if (!word || runtime == RUNTIME_SERVER || checks->n == RUNTIME_N)
        return;
    struct runtime_check *check = &checks->at[checks->n++];
    *check = (struct runtime_check){ .runtime = runtime, .works = strcmp(word, "works") == 0 };
    check->why = check->works ? "" : arena_strdup(arena, line ? line : "");
    for (const char *mark; check->works && (mark = strsep(&line, " "));) {
        check->one_user |= strcmp(mark, RUNTIME_PROBE_ONE_USER) == 0;
        if (strcmp(mark, RUNTIME_PROBE_SHARES_PIDS) == 0)
            check->why = "tasks see the processes of the machine, because a part of /proc is "
                         "hidden here, and the kernel lets no other one be mounted then";
    }
}

/* Has it said of any way to run images whether it works? A muster-node of another version may know
 * none of this server's. */
static bool names_one(const struct runtime_checks *checks)
{
    for (size_t i = 0; i < checks->n; i++)
        if (checks->at[i].runtime > RUNTIME_HOST)
            return true;
    return false;
}

/* Lines as node/runtime_probe.h has them. */
static void ask(struct arena *arena, const char *program, const char *verb, const char *dir,
                struct runtime_checks *checks)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MOST);
    *checks = (struct runtime_checks){ .n = 0 };
    bool told = program && read_all(program, verb, dir, &text);
    AUTO_FREE char *lines = mem_strdup(buf_str(&text));
    char *rest = lines;
    for (char *line; told && (line = strsep(&rest, "\n"));)
        take_line(arena, line, checks);
    if (names_one(checks))
        return;
    checks->n = 1; /* nothing but the host is lost */
    checks->at[0] =
        (struct runtime_check){ .runtime = RUNTIME_BWRAP,
                                .why = program ? "muster-node does not say whether it works"
                                               : "there is no muster-node" };
}

void runtime_asks_first(struct arena *arena, const char *program, const char *dir,
                        struct runtime_checks *checks)
{
    ask(arena, program, "runtimes-first", dir, checks);
}

void runtime_asks_all(struct arena *arena, const char *program, const char *dir,
                      struct runtime_checks *checks)
{
    ask(arena, program, "runtimes", dir, checks);
}
