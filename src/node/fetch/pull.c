/* The child tells its steps as structs through a pipe, each in one write. It leads a session of its
 * own, so that it and its programs are ended together, and dies with the agent. Credentials stay in
 * memory. */
#include "node/fetch/pull.h"

#include "base/mem.h"
#include "node/fetch/make.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(struct pull_progress) <= PIPE_BUF, "news are written whole");

struct pull {
    struct pull_sink sink;
    uv_poll_t poll;
    pid_t pid;
    int told;
    struct pull_progress last;
};

/* ---- the child ---- */

static void tell(void *arg, const struct pull_progress *news)
{
    (void)arg;
    (void)!write(STDOUT_FILENO, news, sizeof *news);
}

static int work(const struct pull_ask *ask, pid_t parent, struct pull_progress *news,
                struct err *err)
{
    if (ask->drop_rights && ask->drop_rights(ask->drop_arg) != 0)
        return err_sys(err, "cannot give up the rights of the agent");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    AUTO_CLOSE int auth = registry_open_auth(ask->auth, ask->auth_len, ask->home, err);
    if (auth < 0)
        return -1;
    (void)umask(022);
    return image_make(ask, auth, (struct make_sink){ .tell = tell }, news, err);
}

static _Noreturn void child(const struct pull_ask *ask, int told, pid_t parent)
{
    struct err err = { .code = ERR_SYSTEM };
    struct pull_progress news = { .step = PULL_DONE };
    (void)setsid();
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGCHLD, SIG_DFL);
    if (dup2(told, STDOUT_FILENO) < 0)
        _exit(1);
    /* not closed at once: libuv opens its own anew in every fork, by their numbers */
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    bool good = work(ask, parent, &news, &err) == 0;
    news.step = good ? PULL_DONE : PULL_FAILED;
    if (!good) {
        news.code = err.code;
        snprintf(news.what, sizeof news.what, "%s", err.what);
        snprintf(news.hint, sizeof news.hint, "%s", err.hint);
    }
    tell(NULL, &news);
    _exit(0);
}

/* ---- the agent ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void pull_destroy(struct pull *pull)
{
    if (!pull)
        return;
    if (pull->pid > 0) {
        (void)kill(-pull->pid, SIGKILL);
        (void)kill(pull->pid, SIGKILL); /* before it leads its session */
        (void)waitpid(pull->pid, NULL, 0);
    }
    close(pull->told);
    uv_close((uv_handle_t *)&pull->poll, on_closed);
}

static void reap(struct pull *pull)
{
    uv_poll_stop(&pull->poll);
    (void)kill(-pull->pid, SIGKILL); /* what it may have left */
    (void)waitpid(pull->pid, NULL, 0);
    pull->pid = 0;
}

/* The last news may be followed by the end of the pipe only: the sink may destroy the pull. */
static void on_news(uv_poll_t *poll, int status, int events)
{
    struct pull *pull = poll->data;
    struct pull_progress news;
    ssize_t n = read(pull->told, &news, sizeof news);
    (void)status;
    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof news) {
        news = pull->last;
        news.step = PULL_FAILED;
        news.code = ERR_SYSTEM;
        snprintf(news.what, sizeof news.what, "fetching the image was ended");
        news.hint[0] = '\0';
    }
    pull->last = news;
    if (news.step == PULL_DONE || news.step == PULL_FAILED)
        reap(pull);
    pull->sink.news(pull->sink.arg, &news);
}

struct pull *pull_start(uv_loop_t *loop, const struct pull_ask *ask, struct pull_sink sink,
                        struct err *err)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0) {
        err_sys(err, "pipe");
        return NULL;
    }
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        child(ask, pair[1], self);
    close(pair[1]);
    if (pid < 0) {
        err_sys(err, "cannot start a process");
        close(pair[0]);
        return NULL;
    }
    struct pull *pull = mem_new(sizeof *pull);
    *pull = (struct pull){ .sink = sink, .pid = pid, .told = pair[0] };
    pull->poll.data = pull;
    (void)fcntl(pull->told, F_SETFL, O_NONBLOCK);
    if (uv_poll_init(loop, &pull->poll, pull->told) != 0)
        BUG("a pipe cannot be polled");
    uv_poll_start(&pull->poll, UV_READABLE, on_news);
    return pull;
}
