/* Workers write lines to a pipe: "at", "set KEY", "note", "fail", "hint", "ok" and their text. One
 * that ends without "ok" or "fail" was killed. They end with this process. */
#include "cli/workers.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define NEWS_MAX (64u << 10)

struct worker_report {
    int fd;
};

struct worker {
    pid_t pid;
    int fd; /* -1: not started, or ended */
    bool ended;
    struct buf lines;
    struct worker_result result;
};

/* ---- in the worker ---- */

static void put_line(struct worker_report *to, const char *kind, const char *key, const char *text)
{
    AUTO_BUF struct buf line = BUF_INIT(4096);
    buf_addf(&line, "%s %s%s%.3000s", kind, key, *key ? " " : "", text);
    for (size_t i = 0; i < line.len; i++)
        if ((unsigned char)line.data[i] < ' ' || line.data[i] == 0x7f)
            line.data[i] = ' ';
    buf_putc(&line, '\n');
    (void)file_write_all(to->fd, line.data, line.len);
}

void worker_at(struct worker_report *to, const char *doing)
{
    put_line(to, "at", "", doing);
}

void worker_set(struct worker_report *to, const char *key, const char *value)
{
    put_line(to, "set", key, value);
}

void worker_note(struct worker_report *to, const char *text)
{
    put_line(to, "note", "", text);
}

static void say_failed(const struct work_list *work, struct worker_report *to,
                       const struct err *err)
{
    AUTO_BUF struct buf hint = BUF_INIT(4096);
    buf_puts(&hint, err->hint);
    if (err->remedies.n) {
        buf_puts(&hint, hint.len ? "; " : "");
        remedies_put_text(&hint, &err->remedies, &work->cli->refused);
    }
    put_line(to, "hint", "", buf_str(&hint));
    put_line(to, "fail", "", err->what);
}

static void run_worker(const struct work_list *work, size_t i, int fd, pid_t parent)
{
    struct worker_report to = { .fd = fd };
    struct err err = { .what = "" };
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    if (work->work(work->arg, i, &to, &err) < 0)
        say_failed(work, &to, &err);
    else
        put_line(&to, "ok", "", "");
    _exit(0);
}

/* ---- here ---- */

static int start_worker(const struct work_list *work, struct worker *worker, size_t i,
                        struct err *err)
{
    int fds[2];
    pid_t parent = getpid();
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(err, "pipe");
    worker->pid = fork();
    if (worker->pid == 0)
        run_worker(work, i, fds[1], parent);
    close(fds[1]);
    if (worker->pid < 0) {
        close(fds[0]);
        return err_sys(err, "starting a process for %s", work->names[i]);
    }
    worker->fd = fds[0];
    return 0;
}

static void take_line(struct arena *arena, struct worker *worker, char *line)
{
    struct worker_result *result = &worker->result;
    char *text = strchr(line, ' '), *value;
    if (!text)
        return;
    *text++ = '\0';
    if (strcmp(line, "at") == 0)
        result->at = arena_strdup(arena, text);
    else if (strcmp(line, "note") == 0)
        pairs_set(&result->notes, arena, text, "");
    else if (strcmp(line, "fail") == 0)
        result->what = arena_strdup(arena, text);
    else if (strcmp(line, "hint") == 0)
        result->hint = arena_strdup(arena, text);
    else if (strcmp(line, "ok") == 0)
        result->ok = true;
    else if ((value = strchr(text, ' '))) {
        *value++ = '\0';
        pairs_set(&result->values, arena, text, value);
    }
}

/* false: it has ended. */
static bool take_news(struct arena *arena, struct worker *worker)
{
    char piece[4096];
    ssize_t n = read(worker->fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    buf_add(&worker->lines, piece, (size_t)n);
    for (char *end;
         worker->lines.len && (end = memchr(worker->lines.data, '\n', worker->lines.len));) {
        size_t len = (size_t)(end - worker->lines.data);
        *end = '\0';
        take_line(arena, worker, worker->lines.data);
        buf_drop(&worker->lines, len + 1);
    }
    return true;
}

static void end_worker(const struct work_list *work, struct worker *worker)
{
    int status;
    struct worker_result *result = &worker->result;
    close(worker->fd);
    worker->fd = -1;
    worker->ended = true;
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!result->ok && !*result->what)
        result->what = "its process was ended before it was done";
    work->done(work->arg, result);
}

/* "gpu2: copying muster-node, gpu3: connecting", or nothing, on the line where the cursor is. */
static void show(const struct work_list *work, const struct worker *workers, bool nothing)
{
    AUTO_BUF struct buf text = BUF_INIT(NEWS_MAX), screen = BUF_INIT(NEWS_MAX);
    unsigned columns = session_window().ws_col;
    if (!isatty(STDERR_FILENO))
        return;
    for (size_t i = 0; !nothing && i < work->n; i++)
        if (workers[i].fd >= 0)
            buf_addf(&text, "%s%s: %s", text.len ? ", " : "", work->names[i], workers[i].result.at);
    buf_puts(&screen, "\r\033[K");
    buf_puts(&screen, table_clip(work->cli->arena, buf_str(&text), columns > 1 ? columns - 1 : 79));
    out_screen(STDERR_FILENO, &screen);
}

static void wait_news(const struct work_list *work, struct worker *workers, size_t started)
{
    struct pollfd fds[WORKERS_AT_ONCE];
    size_t of[WORKERS_AT_ONCE], n = 0;
    for (size_t i = 0; i < started && n < WORKERS_AT_ONCE; i++)
        if (workers[i].fd >= 0) {
            fds[n] = (struct pollfd){ .fd = workers[i].fd, .events = POLLIN };
            of[n++] = i;
        }
    if (poll(fds, n, -1) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (!fds[i].revents || take_news(work->cli->arena, &workers[of[i]]))
            continue;
        show(work, workers, true);
        end_worker(work, &workers[of[i]]);
    }
}

static size_t running(const struct worker *workers, size_t n)
{
    size_t live = 0;
    for (size_t i = 0; i < n; i++)
        live += workers[i].fd >= 0;
    return live;
}

int workers_run(const struct work_list *work, struct err *err)
{
    struct worker *workers = ARENA_ARRAY(work->cli->arena, work->n + 1, struct worker);
    size_t started = 0;
    int rc = 0, failed = 0;
    call_drop(work->cli); /* each has its own connection */
    for (size_t i = 0; i < work->n; i++) {
        workers[i].fd = -1;
        workers[i].lines = BUF_INIT(NEWS_MAX);
        workers[i].result = (struct worker_result){
            .name = work->names[i], .what = "", .hint = "", .at = "beginning"
        };
    }
    while (rc == 0 || running(workers, started)) {
        while (rc == 0 && started < work->n && running(workers, started) < WORKERS_AT_ONCE) {
            rc = start_worker(work, &workers[started], started, err);
            started += rc == 0;
        }
        if (!running(workers, started))
            break;
        show(work, workers, false);
        wait_news(work, workers, started);
    }
    for (size_t i = 0; i < started; i++) {
        failed += !workers[i].result.ok;
        buf_fini(&workers[i].lines);
    }
    return rc < 0 ? -1 : failed;
}
