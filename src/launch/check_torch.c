/* A conversation by lines over two pipes with a child, check.py; what may be said is at the head of
 * that file. The child is ended when it says nothing for too long. */
#include "launch/check_torch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "launch/check_py.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static _Noreturn void become_torch(const struct check_task *task, int in, int out)
{
    static const char *const given[] = { [CHECK_GIVEN_NONE] = "none",
                                         [CHECK_GIVEN_DECLARED] = "none",
                                         [CHECK_GIVEN_LIST] = "list",
                                         [CHECK_GIVEN_ALL] = "all" };
    char number[16], bandwidth[sizeof "1"];
    const struct check_grant *grant = task->grant;
    AUTO_FREE char *program = mem_strndup((const char *)launch_check_py, launch_check_py_len);
    AUTO_FREE char *python = mem_strdup(task->python);
    AUTO_FREE char *names = mem_strdup(grant->names);
    AUTO_FREE char *how = mem_strdup(given[grant->given]);
    char command[] = "-c";
    snprintf(number, sizeof number, "%u", grant->n);
    snprintf(bandwidth, sizeof bandwidth, "%d", task->order->bandwidth);
    char *argv[] = { python, command, program, how, number, names, bandwidth, NULL };
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(in, 0) == 0 && dup2(out, 1) == 1)
        (void)execvp(python, argv);
    printf("self %s: %s\n", task->python, strerror(errno));
    (void)fflush(stdout);
    _exit(0);
}

int check_torch_start(struct check_torch *torch, const struct check_task *task)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) < 0)
        return -1;
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(in[0]);
        close(in[1]);
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0)
        become_torch(task, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    *torch = (struct check_torch){ .pid = pid, .in = in[1], .out = out[0] };
    if (pid < 0)
        check_torch_end(torch);
    return pid < 0 ? -1 : 0;
}

void check_torch_tell(struct check_torch *torch, const char *line)
{
    ssize_t n = write(torch->in, line, strlen(line));
    (void)n;
}

/* The first whole line, cut off from what follows it; NULL: there is none yet. */
static const char *take_line(struct check_torch *torch, size_t *taken)
{
    char *end = memchr(torch->line, '\n', torch->len);
    if (!end && torch->len < sizeof torch->line - 1)
        return NULL;
    if (!end)
        end = torch->line + torch->len;
    *end = '\0';
    *taken = (size_t)(end - torch->line) + 1;
    return torch->line;
}

static enum check_torch_answer read_said(const char *line, const char **rest)
{
    static const char *const words[CHECK_TORCH_ENDED] = { "probed", "ready", "ok", "self", "pair" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t len = strlen(words[i]);
        if (strncmp(line, words[i], len) != 0 || (line[len] && line[len] != ' '))
            continue;
        *rest = line[len] ? line + len + 1 : line + len;
        return (enum check_torch_answer)i;
    }
    return CHECK_TORCH_ENDED;
}

/* Of the line that was answered last nothing is needed any more. */
static void drop(struct check_torch *torch, size_t taken)
{
    taken = taken < torch->len ? taken : torch->len;
    memmove(torch->line, torch->line + taken, torch->len - taken);
    torch->len -= taken;
}

/* More of what it says. false: nothing will come. */
static bool read_more(struct check_torch *torch)
{
    ssize_t n = read(torch->out, torch->line + torch->len, sizeof torch->line - 1 - torch->len);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    torch->len += (size_t)n;
    return true;
}

enum check_torch_answer check_torch_hear(struct check_torch *torch, uint64_t ms,
                                         struct check_group *group, const char **rest,
                                         uint32_t *who)
{
    uint64_t until = clock_mono_ms() + ms;
    size_t taken;
    *rest = "";
    drop(torch, torch->said);
    torch->said = 0;
    while (!take_line(torch, &taken)) {
        uint64_t now = clock_mono_ms();
        enum check_source heard =
            now < until ? check_group_wait(group, torch->out, until - now, who) : CHECK_SOURCE_NONE;
        if (heard == CHECK_SOURCE_NONE)
            return CHECK_TORCH_LATE;
        if (heard == CHECK_SOURCE_PARTNER)
            return CHECK_TORCH_PARTNER;
        if (!read_more(torch))
            return CHECK_TORCH_ENDED;
    }
    torch->said = taken;
    return read_said(torch->line, rest);
}

void check_torch_end(struct check_torch *torch)
{
    if (torch->pid == 0)
        return;
    close(torch->in);
    close(torch->out);
    if (torch->pid > 0) {
        (void)kill(torch->pid, SIGKILL);
        while (waitpid(torch->pid, NULL, 0) < 0 && errno == EINTR) {}
    }
    *torch = (struct check_torch){ .pid = 0 };
}
