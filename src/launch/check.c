/* The child that checks: a fork of the launcher that does check_work and sends one answer. What it
 * started ends with it (a process group of its own, and parent-death signals). */
#include "launch/check.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/scan.h"
#include "conn/address.h"
#include "conn/listener.h"
#include "launch/check_work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define DEADLINE_S  300u
#define COME_MS     30000u /* a driver may take long to wake up */
#define PATIENCE_MS 10000u
#define PROBE_MS    20000u

struct check {
    const struct settings *settings;
    void (*done)(void *arg, const struct rdzv_check_report *);
    void *arg;
    int listener;
    uint16_t port;
    uint64_t deadline_ms;
    struct arena *arena; /* of the order */
    struct rdzv_check order;
    pid_t child;
    uv_loop_t *loop;
    uv_timer_t timer;
    struct answer_pipe *pipe;
    unsigned handles;
    bool doomed;
};

/* The end of the pipe with its watcher; freed by the loop. */
struct answer_pipe {
    uv_poll_t poll;
    struct check *check;
    int fd;
    size_t got;
    struct check_answer answer;
};

/* For processes of its own, which wait there. */
static int listen_at(const char *addr, uint16_t *port)
{
    struct listen_place place = { .addr = addr && *addr ? addr : "*" };
    struct err err;
    int fd = listener_open_tcp(&place, &err);
    if (fd < 0)
        return -1;
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    *port = address_port(fd);
    return fd;
}

struct check *check_create(uv_loop_t *loop, const struct settings *settings, const char *addr,
                           void (*done)(void *arg, const struct rdzv_check_report *), void *arg)
{
    struct check *check = mem_new(sizeof *check);
    const char *limit = getenv("MUSTER_CHECK_TIMEOUT_S");
    uint64_t seconds = DEADLINE_S;
    if (limit && !scan_u64(limit, 1, DEADLINE_S, &seconds))
        seconds = DEADLINE_S;
    *check = (struct check){ .settings = settings,
                             .done = done,
                             .arg = arg,
                             .deadline_ms = seconds * 1000u,
                             .loop = loop,
                             .handles = 1 };
    check->arena = arena_create();
    check->listener = listen_at(addr, &check->port);
    uv_timer_init(loop, &check->timer);
    check->timer.data = check;
    return check;
}

uint16_t check_port(const struct check *check)
{
    return check->listener >= 0 ? check->port : 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct check *check;
    if (handle->type == UV_POLL) {
        struct answer_pipe *ended = handle->data;
        check = ended->check;
        free(ended);
    } else {
        check = handle->data;
    }
    if (--check->handles > 0 || !check->doomed)
        return;
    arena_destroy(check->arena);
    free(check);
}

/* Nothing of the running check is left. */
static void end_run(struct check *check)
{
    struct answer_pipe *ended = TAKE(check->pipe);
    uv_timer_stop(&check->timer);
    if (ended) {
        uv_close((uv_handle_t *)&ended->poll, on_closed);
        close(ended->fd);
    }
    if (check->child > 0) {
        (void)kill(-check->child, SIGKILL);
        (void)kill(check->child, SIGKILL); /* it may not lead its group yet */
        while (waitpid(check->child, NULL, 0) < 0 && errno == EINTR) {}
    }
    check->child = 0;
}

void check_destroy(struct check *check)
{
    if (!check)
        return;
    end_run(check);
    if (check->listener >= 0)
        close(check->listener);
    check->doomed = true;
    uv_close((uv_handle_t *)&check->timer, on_closed);
}

/* ---- the child ---- */

static uint64_t at_most(uint64_t ms, uint64_t bound)
{
    return ms < bound ? ms : bound;
}

static enum check_fault fault_wanted(void)
{
    static const char *const names[] = {
        [CHECK_FAULT_SELF] = "self",
        [CHECK_FAULT_PAIR] = "pair",
        [CHECK_FAULT_SLOW] = "slow",
        [CHECK_FAULT_HANG] = "hang",
    };
    const char *wanted = getenv("MUSTER_CHECK_FAULT");
    for (size_t i = 0; wanted && i < ARRAY_LEN(names); i++)
        if (names[i] && strcmp(names[i], wanted) == 0)
            return (enum check_fault)i;
    return CHECK_FAULT_NONE;
}

static _Noreturn void be_checker(const struct check *check, pid_t launcher, int out)
{
    struct check_answer answer;
    sigset_t none;
    /* Waiting ends before the deadline, and the own part before the others stop waiting for it. */
    const uint64_t whole = check->deadline_ms;
    struct check_grant grant;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(1);
    (void)setsid();
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN); /* torch may end before it is told something */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    check_grant_read("", &grant);
    struct check_task task = {
        .order = &check->order,
        .listener = check->listener,
        .come_ms = at_most(whole / 4, COME_MS),
        .patience_ms = at_most(whole / 4, PATIENCE_MS),
        .probe_ms = at_most(whole / 4, PROBE_MS),
        .own_ms = whole * 3 / 10,
        .agree_ms = whole / 3,
        .joint_ms = whole / 3,
        .fault = fault_wanted(),
        .grant = &grant,
        .torch = getenv("MUSTER_CHECK_TORCH") != NULL,
        .python = check->settings->python,
    };
    check_work(&task, &answer);
    ssize_t n = write(out, &answer, sizeof answer); /* below PIPE_BUF: in one piece */
    _exit(n == (ssize_t)sizeof answer ? 0 : 1);
}

/* ---- the answer ---- */

static void tell(struct check *check, const struct check_answer *answer)
{
    struct rdzv_check_report checked = { .term = check->order.term,
                                         .check = check->order.check,
                                         .result = (enum rdzv_check_result)answer->result,
                                         .took_us = answer->took_us,
                                         .figures = answer->figures,
                                         .why = answer->why };
    check->done(check->arg, &checked);
}

static void tell_bad(struct check *check, const char *why)
{
    struct check_answer answer = { .result = RDZV_CHECK_SELF_BAD };
    snprintf(answer.why, sizeof answer.why, "%s", why);
    end_run(check);
    tell(check, &answer);
}

static void on_deadline(uv_timer_t *timer)
{
    struct check *check = timer->data;
    char why[CHECK_WHY_MAX];
    snprintf(why, sizeof why, "the check did not end within %llu s",
             (unsigned long long)check->deadline_ms / 1000u);
    tell_bad(check, why);
}

static void on_answer(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct answer_pipe *from = poll->data;
    struct check *check = from->check;
    ssize_t n = read(from->fd, (char *)&from->answer + from->got, sizeof from->answer - from->got);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        tell_bad(check, "the check program crashed");
        return;
    }
    from->got += (size_t)n;
    if (from->got < sizeof from->answer)
        return;
    struct check_answer answer = from->answer;
    answer.figures[sizeof answer.figures - 1] = answer.why[sizeof answer.why - 1] = '\0';
    end_run(check);
    tell(check, &answer);
}

static void keep_order(struct check *check, const struct rdzv_check *order)
{
    arena_reset(check->arena);
    check->order = *order;
    struct rdzv_peer *peers = ARENA_ARRAY(check->arena, order->n, struct rdzv_peer);
    for (size_t i = 0; i < order->n; i++)
        peers[i] = (struct rdzv_peer){ .addr = arena_strdup(check->arena, order->peers[i].addr),
                                       .port = order->peers[i].port };
    check->order.peers = peers;
}

static int start_child(struct check *check, int ends[2])
{
    sigset_t all, before;
    pid_t launcher = getpid();
    /* A signal to the child must not reach the loop's handlers. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    check->child = fork();
    if (check->child == 0)
        be_checker(check, launcher, ends[1]);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    struct answer_pipe *to = mem_new(sizeof *to);
    *to = (struct answer_pipe){ .check = check, .fd = ends[0] };
    if (check->child < 0 || uv_poll_init(check->loop, &to->poll, ends[0]) != 0) {
        close(ends[0]);
        free(to);
        return -1;
    }
    to->poll.data = to;
    check->handles++;
    check->pipe = to;
    uv_poll_start(&to->poll, UV_READABLE, on_answer);
    return 0;
}

void check_run(struct check *check, const struct rdzv_check *order)
{
    int ends[2];
    end_run(check);
    keep_order(check, order);
    if (order->n > 0 && pipe2(ends, O_CLOEXEC) == 0 && start_child(check, ends) == 0) {
        uv_timer_start(&check->timer, on_deadline, check->deadline_ms, 0);
        return;
    }
    tell_bad(check, "no process could be started for the check");
}
