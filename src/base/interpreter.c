/* Looking for Python interpreters. A program is asked with its own words, never by its name or its
 * bytes; an alarm ends one that does not answer. */
#include "base/interpreter.h"

#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
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

/* ---- pyenv's wrappers, which are common and slow ---- */

/* The first word of a file that is no comment, in arena; NULL when there is none. */
static const char *first_word(struct arena *a, const char *path)
{
    char text[1024];
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = fd >= 0 ? read_all(fd, text, sizeof text) : 0;
    text[len] = '\0';
    const char *at = text + strspn(text, " \t\r\n");
    size_t n = strcspn(at, " \t\r\n");
    return n > 0 && *at != '#' ? arena_strndup(a, at, n) : NULL;
}

/* As pyenv documents it: PYENV_VERSION, .python-version here or above, the global version. */
static const char *pyenv_version(struct arena *a, const char *root)
{
    char here[4096];
    const char *named = getenv("PYENV_VERSION");
    if (named && *named)
        return arena_strndup(a, named, strcspn(named, ":"));
    if (getenv("PYENV_DIR") || !getcwd(here, sizeof here))
        return NULL;
    for (char *end = here + strlen(here); end; end = strrchr(here, '/')) {
        *end = '\0';
        const char *file = arena_printf(a, "%s/.python-version", here);
        if (access(file, F_OK) == 0)
            return first_word(a, file);
    }
    return first_word(a, arena_printf(a, "%s/version", root));
}

/* ROOT/shims/python3 runs ROOT/versions/V/bin/python3; NULL where it may be otherwise. */
static const char *of_pyenv(struct arena *a, const char *program)
{
    const char *shims = strstr(program, "/shims/");
    if (!shims || strchr(shims + strlen("/shims/"), '/'))
        return NULL;
    const char *root = arena_strndup(a, program, (size_t)(shims - program));
    const char *version = pyenv_version(a, root);
    if (!version || strchr(version, '/'))
        return NULL;
    const char *path =
        arena_printf(a, "%s/versions/%s/bin/%s", root, version, shims + strlen("/shims/"));
    return access(path, X_OK) == 0 ? path : NULL;
}

const char *interpreter_behind(struct arena *a, const char *program)
{
    char head[2] = "";
    AUTO_CLOSE int fd = open(program, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, head, sizeof head) != 2 || memcmp(head, "#!", 2) != 0)
        return program;
    const char *known = of_pyenv(a, program);
    return known ? known : interpreter_ask(a, program);
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
