/* A call into the driver may hang in the kernel, where no signal ends it: then the process is left
 * behind, and its end is taken by nobody. */
#include "gpu/ask.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "gpu/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_S  30u
#define KNOWN_MS   5000u /* that a start waits where devices are known */
#define SLOW_MS    2000u /* after which that is said */
#define ANSWER_MAX (1u << 20)
#define END_TRIES  100 /* of a millisecond each, for one that was killed */

struct answer {
    struct buf text;
    uint64_t limit_ms, slow_ms; /* slow_ms: of the limit; 0: nobody is told */
    void (*slow)(uint64_t);
    bool late;
};

uint64_t gpu_ask_limit_ms(void)
{
    const char *text = getenv("MUSTER_GPU_TIMEOUT_S");
    uint64_t seconds = TIMEOUT_S;
    if (text && !scan_u64(text, 1, 600, &seconds))
        seconds = TIMEOUT_S;
    return seconds * 1000u;
}

static pid_t start(const char *program, int out)
{
    char name[] = GPU_ASK_NAME;
    char *argv[] = { name, NULL };
    posix_spawn_file_actions_t files;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&files) != 0)
        return -1;
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, program, &files, NULL, argv, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

/* Waits for bytes or the end: false where neither came in time. */
static bool wait_more(int fd, struct answer *answer, uint64_t from)
{
    for (;;) {
        uint64_t waited = clock_mono_ms() - from;
        uint64_t until = answer->slow ? answer->slow_ms : answer->limit_ms;
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        int rc = waited < until ? poll(&ready, 1, (int)(until - waited)) : 0;
        if (rc > 0)
            return true;
        if (rc < 0 && errno == EINTR)
            continue;
        if (!answer->slow)
            return false;
        answer->slow(answer->limit_ms);
        answer->slow = NULL;
    }
}

static void read_answer(int fd, struct answer *answer)
{
    const uint64_t from = clock_mono_ms();
    char piece[4096];
    for (;;) {
        answer->late = !wait_more(fd, answer, from);
        ssize_t n = answer->late ? 0 : read(fd, piece, sizeof piece);
        if (n <= 0)
            return;
        buf_add(&answer->text, piece, (size_t)n);
    }
}

/* Its status; -1: it does not end. */
static int end_child(pid_t pid, bool kill_it)
{
    int status = -1;
    if (!kill_it)
        return waitpid(pid, &status, 0) == pid ? status : -1;
    (void)kill(pid, SIGKILL);
    for (int i = 0; i < END_TRIES; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
        (void)poll(NULL, 0, 1);
    }
    return -1;
}

static const char *why_not(struct arena *a, const struct answer *answer, int status)
{
    if (answer->late)
        return arena_printf(a, "the driver did not answer within %llu s",
                            (unsigned long long)answer->limit_ms / 1000);
    if (status >= 0 && WIFSIGNALED(status))
        return arena_printf(a, "the driver's library crashed (SIG%s)",
                            sigabbrev_np(WTERMSIG(status)));
    return "the driver could not be asked";
}

static void ask(struct arena *a, const char *program, struct answer *answer,
                struct gpu_report *report)
{
    int ends[2], status = -1;
    *report = (struct gpu_report){ .driver = "", .error = "the driver could not be asked" };
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t pid = start(program ? program : "/proc/self/exe", ends[1]);
    close(ends[1]);
    if (pid > 0) {
        read_answer(ends[0], answer);
        status = end_child(pid, answer->late);
        if (status != 0 || gpu_lines_read(a, buf_str(&answer->text), report) != 0)
            *report = (struct gpu_report){ .driver = "", .error = why_not(a, answer, status) };
    }
    close(ends[0]);
    buf_fini(&answer->text);
}

void gpu_ask(struct arena *a, const char *program, struct gpu_report *report)
{
    struct answer answer = { .text = BUF_INIT(ANSWER_MAX), .limit_ms = gpu_ask_limit_ms() };
    ask(a, program, &answer, report);
}

void gpu_ask_at_start(struct arena *a, const struct gpu_ask_start *as, struct gpu_report *report)
{
    uint64_t limit_ms = gpu_ask_limit_ms();
    if (as->known && !getenv("MUSTER_GPU_TIMEOUT_S"))
        limit_ms = KNOWN_MS;
    struct answer answer = { .text = BUF_INIT(ANSWER_MAX),
                             .limit_ms = limit_ms,
                             .slow_ms = limit_ms / 2 < SLOW_MS ? limit_ms / 2 : SLOW_MS,
                             .slow = as->slow };
    ask(a, NULL, &answer, report);
}
