/* Looking for Python interpreters. A program is asked with its own words, never by its name or its
 * bytes; an alarm ends one that does not answer. */
#include "base/interpreter.h"

#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEADLINE_S 10

static size_t read_all(int fd, char *text, size_t size)
{
    size_t len = 0;
    for (ssize_t n = 1; n > 0 && len<size - 1; len += n> 0 ? (size_t)n : 0)
        n = read(fd, text + len, size - 1 - len);
    return len;
}

_Noreturn static void be_asked(const char *program, int out)
{
    int null = open("/dev/null", O_RDWR);
    dup2(out, STDOUT_FILENO);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDERR_FILENO);
    }
    signal(SIGALRM, SIG_DFL);
    alarm(DEADLINE_S); /* stays over exec */
    execl(program, program, "-c", "import sys; print(sys.executable)", (char *)NULL);
    _exit(127);
}

const char *interpreter_ask(struct arena *a, const char *program)
{
    char line[4096] = "";
    int ends[2], status = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    pid_t pid = fork();
    if (pid == 0)
        be_asked(program, ends[1]);
    close(ends[1]);
    size_t n = pid > 0 ? read_all(ends[0], line, sizeof line) : 0;
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    line[strcspn(line, "\n")] = '\0';
    return n > 0 && status == 0 && line[0] == '/' ? arena_strdup(a, line) : NULL;
}

const char *interpreter_behind(struct arena *a, const char *program)
{
    char head[2] = "";
    AUTO_CLOSE int fd = open(program, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, head, sizeof head) != 2 || memcmp(head, "#!", 2) != 0)
        return program;
    return interpreter_ask(a, program);
}

const char *interpreter_in_path(struct arena *a, const char *path, const char *name)
{
    for (const char *at = path ? path : ""; *at;) {
        size_t n = strcspn(at, ":");
        const char *file = arena_printf(a, "%.*s/%s", (int)n, at, name);
        const char *real =
            at[0] == '/' && access(file, X_OK) == 0 ? interpreter_behind(a, file) : NULL;
        if (real)
            return real;
        at += n + (at[n] == ':');
    }
    return NULL;
}
