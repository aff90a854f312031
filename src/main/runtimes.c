/* A child whose output is read to its end before the server's loop begins; it ends itself by an
 * alarm when it hangs. */
#include "main/runtimes.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_MOST 20
#define TEXT_MOST    4096u

static _Noreturn void child(const char *program, const char *dir, int out)
{
    if (dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
    (void)alarm(SECONDS_MOST);
    (void)execl(program, "muster-node", "runtimes", dir, (char *)NULL);
    _exit(127);
}

static bool read_all(const char *program, const char *dir, struct buf *text)
{
    int pipes[2], status = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        child(program, dir, pipes[1]);
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

/* "NAME works", "NAME no REASON"; the host is no way to run an image. */
const char *runtimes_ask(struct arena *arena, const char *program, const char *dir, bool *one_user)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MOST);
    AUTO_BUF struct buf why = BUF_INIT(TEXT_MOST);
    if (!read_all(program, dir, &text))
        return "muster-node does not say which runtimes work";
    AUTO_FREE char *lines = mem_strdup(buf_str(&text));
    char *rest = lines;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *name = strsep(&line, " "), *word = strsep(&line, " ");
        if (!word || strcmp(name, "host") == 0)
            continue;
        if (strcmp(word, "works") == 0) {
            if (one_user)
                *one_user = line != NULL;
            return NULL;
        }
        buf_addf(&why, "%s%s: %s", why.len ? "; " : "", name, line ? line : "");
    }
    return arena_strdup(arena, buf_str(&why));
}
