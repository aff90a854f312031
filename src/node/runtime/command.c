/* Programs for containers take names, and what a name leads to may change until they have followed
 * it; they follow it with root's rights where they have them. So nothing of another account is
 * handed to one. */
#include "node/runtime/command.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_MOST    (64u << 10)
#define ENVIRON_MOST (4u << 20)
#define LIMIT        16384u /* of files and processes of the one that waits, which needs few */
#define FIXED        80u    /* words beside binds */

/* ---- words ---- */

struct command command_new(const char *program, size_t binds)
{
    struct command command = { .at = mem_new((FIXED + 2 * binds) * sizeof(char *)) };
    command_add(&command, program);
    return command;
}

void command_free(struct command *command)
{
    for (size_t i = 0; i < command->n; i++)
        free(command->at[i]);
    free(command->at);
}

void command_add(struct command *command, const char *word)
{
    command->at[command->n++] = mem_strdup(word);
}

void command_add_all(struct command *command, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        command_add(command, words[i]);
}

void command_pair(struct command *command, const char *option, char *value)
{
    command_add(command, option);
    command->at[command->n++] = value;
}

void command_limit(struct command *command, const char *name, unsigned resource)
{
    struct rlimit is;
    rlim_t n = getrlimit(resource, &is) == 0 && is.rlim_max < LIMIT ? is.rlim_max : LIMIT;
    command_pair(command, "--ulimit",
                 mem_printf("%s=%llu:%llu", name, (unsigned long long)n, (unsigned long long)n));
}

/* ---- its run ---- */

static _Noreturn void become(char **argv, const struct command_variable *more, size_t n, int said)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)setsid();
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(said < 0 ? null : said, STDERR_FILENO) < 0)
        _exit(127);
    for (size_t i = 0; i < n; i++)
        if (setenv(more[i].name, more[i].value, 1) != 0)
            _exit(127);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "cannot be started: %s\n", strerror(errno));
    _exit(127);
}

int command_run(struct command *command, const struct command_variable *more, size_t n, int said)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        command->at[command->n] = NULL;
        become(command->at, more, n, said);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

int command_open_said(const char *path, char why[ROOT_WHY])
{
    int said = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    return said < 0 ? command_fail(why, "%.60s", path) : said;
}

char *command_said(int said)
{
    char *text = mem_new(SAID_MOST + 1);
    ssize_t n = pread(said, text, SAID_MOST, 0);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* ---- what may be said, and what was ---- */

int command_fail(char why[ROOT_WHY], const char *fmt, ...)
{
    int number = errno;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(why, ROOT_WHY, fmt, ap);
    va_end(ap);
    if (n >= 0 && n < ROOT_WHY)
        snprintf(why + n, ROOT_WHY - (size_t)n, ": %s", strerror(number));
    return -1;
}

int command_may_show(const char *program, const struct root_bind *bind, char why[ROOT_WHY])
{
    if (bind->user && bind->user->uid != 0) {
        snprintf(why, ROOT_WHY,
                 "%s runs no tasks of other accounts: say runtime: bwrap, or start a server of the "
                 "account's own",
                 program);
        return -1;
    }
    if (access(bind->from, F_OK) == 0)
        return 1;
    return errno == ENOENT && bind->may_miss ? 0
                                             : command_fail(why, "cannot show %.60s", bind->from);
}

int command_read_pid(const char *path, pid_t *pid)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    uint64_t number;
    if (file_read(path, 64, &text, &len, NULL) != 0)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    if (!scan_u64(text, 1, INT32_MAX, &number))
        return -1;
    *pid = (pid_t)number;
    return 0;
}

bool command_pid_has(pid_t pid, const char *entry)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/environ", (int)pid), *text = NULL;
    size_t len;
    return file_read(path, ENVIRON_MOST, &text, &len, NULL) == 0 &&
           memmem(text, len, entry, strlen(entry) + 1) != NULL;
}
