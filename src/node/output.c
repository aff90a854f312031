/* Reading pipes. All streams of a loop share one scratch buffer: bytes are read into it behind what
 * was held back of an unfinished line, cut at the last line end, and written as one record. An
 * unfinished line is held for a short time (so that lines stay whole) and then written as it is (so
 * that prompts and progress bars show). Writing is synchronous: when the disk is slow, reading
 * waits, the pipe fills, and the program waits; nothing grows in memory. */
#include "node/output.h"

#include "base/mem.h"
#include "base/scan.h"
#include "node/masks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOLD_MAX       4096u /* longer unfinished lines are not held */
#define HOLD_MS        50u
#define READS_PER_TURN 8         /* then others have their turn */
#define PIPE_SIZE      (1 << 20) /* what a program can write while we are busy */
#define STREAMS        3

struct stream {
    struct output *output;
    enum record_stream kind;
    int fd; /* -1: closed */
    bool tty;
    uv_poll_t poll;
    uv_timer_t timer;
    size_t held;
    size_t covered; /* bytes at the front of what is held that are the end of a secret's value */
    char hold[HOLD_MAX];
};

struct output {
    uv_loop_t *loop;
    struct logfile *log;
    char *scratch;
    struct output_sink sink;
    const struct masks *masks; /* NULL: none */
    int handles;               /* known to libuv */
    bool doomed;
    size_t tail_len;
    bool tail_cut;
    char tail[ENDING_TAIL_MAX];
    struct stream streams[STREAMS];
};

static const enum record_stream kinds[STREAMS] = { RECORD_STDOUT, RECORD_STDERR, RECORD_MUSTER };

struct output *output_create(uv_loop_t *loop, struct logfile *log, char *scratch,
                             struct output_sink sink)
{
    struct output *output = mem_new(sizeof *output);
    output->loop = loop;
    output->log = log;
    output->scratch = scratch;
    output->sink = sink;
    for (size_t i = 0; i < STREAMS; i++) {
        output->streams[i].output = output;
        output->streams[i].kind = kinds[i];
        output->streams[i].fd = -1;
    }
    return output;
}

void output_mask(struct output *output, const struct masks *masks)
{
    output->masks = masks;
}

static void free_if_done(struct output *output)
{
    if (!output->doomed || output->handles > 0)
        return;
    logfile_destroy(output->log);
    free(output);
}

static void on_closed(uv_handle_t *handle)
{
    struct stream *stream = handle->data;
    stream->output->handles--;
    free_if_done(stream->output);
}

static void close_stream(struct stream *stream)
{
    if (stream->fd < 0)
        return;
    uv_close((uv_handle_t *)&stream->poll, on_closed);
    uv_close((uv_handle_t *)&stream->timer, on_closed);
    close(stream->fd);
    stream->fd = -1;
}

void output_destroy(struct output *output)
{
    if (!output)
        return;
    for (size_t i = 0; i < STREAMS; i++)
        close_stream(&output->streams[i]);
    output->doomed = true;
    free_if_done(output);
}

/* ---- into the log ---- */

static void keep_tail(struct output *output, const char *bytes, size_t len)
{
    if (len >= sizeof output->tail) {
        output->tail_cut = output->tail_cut || len > sizeof output->tail || output->tail_len > 0;
        memcpy(output->tail, bytes + len - sizeof output->tail, sizeof output->tail);
        output->tail_len = sizeof output->tail;
        return;
    }
    size_t room = sizeof output->tail - output->tail_len;
    if (len > room) {
        size_t drop = len - room;
        memmove(output->tail, output->tail + drop, output->tail_len - drop);
        output->tail_len -= drop;
        output->tail_cut = true;
    }
    memcpy(output->tail + output->tail_len, bytes, len);
    output->tail_len += len;
}

static void cover(struct stream *stream, char *bytes, size_t len, size_t all)
{
    size_t front = stream->covered < len ? stream->covered : len, left = stream->covered - front;
    size_t behind = masks_cover(stream->output->masks, bytes, len, all);
    memset(bytes, '*', front);
    stream->covered = behind > left ? behind : left;
}

/* The first len of all that is there. */
static void write_record(struct stream *stream, char *bytes, size_t len, size_t all)
{
    struct timespec now;
    if (stream->output->masks)
        cover(stream, bytes, len, all);
    clock_gettime(CLOCK_REALTIME, &now);
    struct record record = { .stream = stream->kind,
                             .time_us =
                                 (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u };
    logfile_add(stream->output->log, &record, bytes, len);
    keep_tail(stream->output, bytes, len);
}

/* What is at the end of the bytes and may go on as something that is not to be shown. */
static size_t undecided(const struct stream *stream, const char *bytes, size_t len)
{
    return stream->output->masks ? masks_open(stream->output->masks, bytes, len) : 0;
}

/* But for the last `keep` bytes. */
static void flush_hold(struct stream *stream, size_t keep)
{
    size_t len = stream->held - keep;
    if (len == 0)
        return;
    write_record(stream, stream->hold, len, stream->held);
    memmove(stream->hold, stream->hold + len, keep);
    stream->held = keep;
    stream->output->sink.grew(stream->output->sink.arg);
}

static void on_held_long_enough(uv_timer_t *timer)
{
    struct stream *stream = timer->data;
    flush_hold(stream, undecided(stream, stream->hold, stream->held));
}

/* len bytes lie in scratch, what was held in front of them. */
static void take(struct stream *stream, size_t len)
{
    char *bytes = stream->output->scratch;
    const char *end = memrchr(bytes, '\n', len);
    size_t lines = end ? (size_t)(end - bytes) + 1 : 0;
    if (stream->tty || len - lines > HOLD_MAX)
        lines = len - undecided(stream, bytes, len);
    if (lines > 0) {
        write_record(stream, bytes, lines, len);
        uv_timer_stop(&stream->timer);
    }
    stream->held = len - lines;
    memcpy(stream->hold, bytes + lines, stream->held);
    if (stream->held > 0 && !uv_is_active((uv_handle_t *)&stream->timer))
        uv_timer_start(&stream->timer, on_held_long_enough, HOLD_MS, 0);
    if (lines > 0)
        stream->output->sink.grew(stream->output->sink.arg);
}

enum reading { READ_MORE, READ_EMPTY, READ_END };

static enum reading read_once(struct stream *stream)
{
    char *scratch = stream->output->scratch;
    memcpy(scratch, stream->hold, stream->held);
    ssize_t n = read(stream->fd, scratch + stream->held, OUTPUT_SCRATCH - stream->held);
    if (n < 0 && errno == EINTR)
        return READ_MORE;
    if (n < 0 && errno == EAGAIN)
        return READ_EMPTY;
    if (n <= 0)
        return READ_END;
    take(stream, stream->held + (size_t)n);
    return READ_MORE;
}

static void end_stream(struct stream *stream)
{
    flush_hold(stream, 0);
    close_stream(stream);
}

static bool is_open(const struct output *output)
{
    for (size_t i = 0; i < STREAMS; i++)
        if (output->streams[i].fd >= 0)
            return true;
    return false;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct stream *stream = poll->data;
    enum reading last = status < 0 ? READ_END : READ_MORE;
    for (int i = 0; i < READS_PER_TURN && last == READ_MORE; i++)
        last = read_once(stream);
    if (last != READ_END)
        return;
    struct output *output = stream->output;
    end_stream(stream);
    if (!is_open(output))
        output->sink.closed(output->sink.arg);
}

/* ---- for the owner ---- */

static void open_stream(struct output *output, enum record_stream kind, int fd)
{
    struct stream *stream = &output->streams[kind - RECORD_STDOUT];
    if (stream->fd >= 0)
        BUG("stream %d is open already", (int)kind);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    stream->fd = fd;
    stream->poll.data = stream;
    stream->timer.data = stream;
    if (uv_poll_init(output->loop, &stream->poll, fd) != 0)
        BUG("a pipe cannot be polled");
    uv_timer_init(output->loop, &stream->timer);
    output->handles += 2;
    uv_poll_start(&stream->poll, UV_READABLE, on_readable);
}

int output_open(struct output *output, enum record_stream kind, int *child_end, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    (void)fcntl(ends[0], F_SETPIPE_SZ,
                PIPE_SIZE); /* an unprivileged user may have used up his share */
    open_stream(output, kind, ends[0]);
    *child_end = ends[1];
    return 0;
}

void output_open_terminal(struct output *output, int fd)
{
    open_stream(output, RECORD_STDOUT, fd);
    output->streams[0].tty = true;
}

void output_finish(struct output *output)
{
    for (size_t i = 0; i < STREAMS; i++) {
        struct stream *stream = &output->streams[i];
        while (stream->fd >= 0 && read_once(stream) == READ_MORE)
            continue;
        if (stream->fd >= 0)
            end_stream(stream);
    }
    logfile_finish(output->log);
}

void output_say(struct output *output, const char *fmt, ...)
{
    char text[1000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    logfile_say(output->log, text);
    output->sink.grew(output->sink.arg);
}

uint64_t output_end(const struct output *output)
{
    return logfile_end(output->log);
}

/* Bytes of the UTF-8 character at the front of at most n bytes, 0 when it is not one. */
static size_t character(const char *at, size_t n)
{
    for (size_t len = 1; len <= 4 && len <= n; len++)
        if (scan_utf8(at, len))
            return len;
    return 0;
}

const char *output_tail(const struct output *output, char out[ENDING_TAIL_MAX + 1])
{
    const char *at = output->tail;
    size_t len = output->tail_len;
    const char *line = output->tail_cut ? memchr(at, '\n', len) : NULL;
    if (line && line + 1 < at + len) {
        len -= (size_t)(line + 1 - at);
        at = line + 1;
    }
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        size_t step = character(at + i, len - i);
        if (step == 0)
            out[n++] = '?';
        else
            memcpy(out + n, at + i, step);
        n += step;
        i += step > 0 ? step : 1;
    }
    out[n] = '\0';
    return out;
}
