/* Writing to a console that may block. Terminals and pipes are opened a second time through /proc,
 * which gives an open file of our own that can be non-blocking; sockets are sent to with
 * MSG_DONTWAIT; what can be neither is asked by poll(2) first and gets at most PIPE_BUF bytes at a
 * time. Regular files are written as they are. What is not taken at once is kept, in one bounded
 * buffer, until the descriptor is writable. */
#include "launch/console.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define RETRY_MS 2u          /* where the loop cannot watch the descriptor */
#define SPARE    (64u << 10) /* kept between bursts */

enum write_strategy { WAY_DEAD, WAY_WRITE, WAY_SEND, WAY_ASK };

struct console {
    uv_loop_t *loop;
    struct console_sink sink;
    enum write_strategy way;
    int fd;
    bool own, watched; /* opened by us; poll is usable */
    bool mid_line;
    int handles;
    uv_poll_t poll;
    uv_timer_t timer;
    struct buf pending;
};

static void open_own(struct console *console, int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0)
        return;
    console->fd = own;
    console->own = true;
    console->way = WAY_WRITE;
    console->watched = uv_poll_init(console->loop, &console->poll, own) == 0;
}

struct console *console_create(uv_loop_t *loop, int fd, struct console_sink sink)
{
    struct console *console = mem_new(sizeof *console);
    struct stat st;
    console->loop = loop;
    console->sink = sink;
    console->fd = fd;
    buf_init(&console->pending, CONSOLE_PENDING_MAX);
    if (fstat(fd, &st) != 0)
        console->way = WAY_DEAD;
    else if (S_ISREG(st.st_mode))
        console->way = WAY_WRITE;
    else if (S_ISSOCK(st.st_mode))
        console->way = WAY_SEND;
    else {
        console->way = WAY_ASK;
        open_own(console, fd);
    }
    uv_timer_init(loop, &console->timer);
    console->timer.data = console;
    console->poll.data = console;
    console->handles = console->watched ? 2 : 1;
    return console;
}

static void on_closed(uv_handle_t *handle)
{
    struct console *console = handle->data;
    if (--console->handles > 0)
        return;
    struct console_sink sink = console->sink;
    free(console);
    sink.freed(sink.arg);
}

void console_close(struct console *console)
{
    buf_fini(&console->pending);
    uv_close((uv_handle_t *)&console->timer, on_closed);
    if (console->watched)
        uv_close((uv_handle_t *)&console->poll, on_closed);
    if (console->own)
        close(console->fd);
}

bool console_blocked(const struct console *console)
{
    return console->pending.len > 0;
}

bool console_mid_line(const struct console *console)
{
    return console->mid_line;
}

static bool can_write(int fd, int timeout_ms)
{
    struct pollfd ask = { .fd = fd, .events = POLLOUT };
    return poll(&ask, 1, timeout_ms) > 0;
}

/* Bytes taken; 0: not now; -1: never again. */
static ssize_t write_some(struct console *console, const char *bytes, size_t len)
{
    ssize_t n;
    if (console->way == WAY_SEND)
        n = send(console->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (console->way == WAY_ASK && !can_write(console->fd, 0))
        return 0;
    else
        n = write(console->fd, bytes, console->way == WAY_ASK && len > PIPE_BUF ? PIPE_BUF : len);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* A full disk may have room again; a reader that went away does not come back. */
static void lose(struct console *console)
{
    if (errno == ENOSPC || errno == EDQUOT)
        log_warn("console.lost", "output is lost: the disk is full");
    else
        console->way = WAY_DEAD;
}

/* Takes as much as goes now; true when nothing is left to write. */
static bool write_now(struct console *console, const char *bytes, size_t len, size_t *done)
{
    for (*done = 0; *done < len;) {
        ssize_t n = console->way == WAY_DEAD ? -1 : write_some(console, bytes + *done, len - *done);
        if (n == 0)
            return false;
        if (n < 0) {
            if (console->way != WAY_DEAD)
                lose(console);
            *done = len;
            return true;
        }
        *done += (size_t)n;
    }
    return true;
}

static void wait_for_room(struct console *console);

static void go_on(struct console *console)
{
    size_t done;
    if (!write_now(console, console->pending.data, console->pending.len, &done)) {
        buf_drop(&console->pending, done);
        wait_for_room(console);
        return;
    }
    if (console->pending.cap > SPARE)
        buf_fini(&console->pending);
    else
        buf_clear(&console->pending);
    console->pending.max = CONSOLE_PENDING_MAX;
    if (console->watched)
        uv_poll_stop(&console->poll);
    console->sink.drained(console->sink.arg);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status; /* an error shows in write */
    (void)events;
    go_on(poll->data);
}

static void on_retry(uv_timer_t *timer)
{
    go_on(timer->data);
}

static void wait_for_room(struct console *console)
{
    if (console->watched)
        uv_poll_start(&console->poll, UV_WRITABLE, on_writable);
    else
        uv_timer_start(&console->timer, on_retry, RETRY_MS, 0);
}

void console_put(struct console *console, const char *bytes, size_t len)
{
    size_t done = 0;
    if (len == 0)
        return;
    console->mid_line = bytes[len - 1] != '\n';
    if (console->pending.len == 0 && write_now(console, bytes, len, &done))
        return;
    bool waits = console->pending.len > 0;
    if (console->pending.len + (len - done) > CONSOLE_PENDING_MAX) {
        log_warn("console.lost", "output is lost: nobody reads it");
        return;
    }
    buf_add(&console->pending, bytes + done, len - done);
    if (!waits)
        wait_for_room(console);
}

void console_flush(struct console *console, uint64_t idle_ms)
{
    uint64_t last = clock_mono_ms();
    while (console->pending.len > 0 && clock_mono_ms() - last < idle_ms) {
        size_t before = console->pending.len;
        can_write(console->fd, 50);
        go_on(console);
        if (console->pending.len < before)
            last = clock_mono_ms();
    }
}
