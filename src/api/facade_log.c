/* What a task has written so far, as text or as lines: the last of it when there is more than is
 * asked for. The records are read front to back and what is too old is dropped on the way, so that
 * memory is bounded by what is answered. Or as a stream, which goes on while the log grows. */
#include "api/facade.h"

#include "answer/tasks.h"
#include "api/log_text.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES ((size_t)4 << 20)

struct lines { /* on the way */
    const struct facade_log *ask;
    struct buf *out;
    size_t max;
    bool mid_line;
};

/* Whole lines at the front go, so that at most `max` bytes are left. */
static void keep_last(struct lines *l)
{
    struct buf *out = l->out;
    if (out->len <= l->max)
        return;
    size_t from = out->len - l->max;
    const char *end = memchr(out->data + from, '\n', out->len - from);
    buf_drop(out, end ? (size_t)(end - out->data) + 1 : from);
}

static void add_time(struct lines *l, uint64_t time_us)
{
    char text[FMT_MAX];
    buf_addf(l->out, "%.19s.%06uZ ", fmt_time(text, time_us / 1000), (unsigned)(time_us % 1000000));
}

/* Without the first `skip` bytes. */
static void add_output(struct lines *l, const struct log_item *item, size_t skip)
{
    const char *data = (const char *)item->data + skip;
    size_t len = item->record.len - skip;
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) + 1 : len;
        if (!l->mid_line && l->ask->times)
            add_time(l, item->record.time_us);
        buf_add(l->out, data, n);
        l->mid_line = !end;
        data += n;
        len -= n;
    }
}

static void add_item(struct lines *l, const struct log_item *item, size_t skip)
{
    if (!item->gap) {
        add_output(l, item, skip);
        return;
    }
    struct log_text gap = { .mid_line = l->mid_line };
    log_text_gap(&gap, "", item->gap, l->out);
    l->mid_line = false;
}

static bool wanted(const struct facade_log *ask, const struct log_item *item)
{
    if (item->gap)
        return true;
    return (!ask->stream || item->record.stream == ask->stream) &&
           item->record.time_us >= ask->since_us &&
           (!ask->until_us || item->record.time_us < ask->until_us);
}

static void cut_lines(struct buf *out, uint64_t lines)
{
    size_t at = out->len;
    if (lines == 0)
        return;
    if (at > 0 && out->data[at - 1] == '\n')
        at--;
    for (; at > 0; at--)
        if (out->data[at - 1] == '\n' && --lines == 0)
            break;
    buf_drop(out, at);
}

static void read_log(const struct facade_log *ask, const char *dir, struct buf *out)
{
    struct lines l = { .ask = ask, .out = out, .max = ask->max ? ask->max : TEXT_BYTES };
    struct log_reader *reader = log_reader_create(dir, 0);
    struct log_item item;
    int got;
    while ((got = log_reader_next(reader, &item)) != 0) {
        if (got > 0 && wanted(ask, &item))
            add_item(&l, &item, 0);
        if (out->len > 2 * l.max)
            keep_last(&l);
    }
    log_reader_destroy(reader);
    cut_lines(out, ask->lines);
    keep_last(&l);
}

/* The attempt that is asked for; NULL: none. */
static const struct attempt_log *find(const struct facade_log *ask, const struct attempt_log *logs,
                                      size_t n)
{
    const struct attempt_log *last = NULL, *before = NULL;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(logs[i].role_name, ask->role) != 0 || logs[i].index != ask->index)
            continue;
        if (ask->attempt && logs[i].attempt == ask->attempt)
            return &logs[i];
        before = last;
        last = &logs[i];
    }
    return ask->attempt ? NULL : ask->previous ? before : last;
}

/* NULL: there is none, or it is not the caller's to read. In arena. */
static const struct attempt_log *look_up(struct call *call, struct arena *arena,
                                         const struct facade_log *ask, struct err *err)
{
    struct ctl *ctl = call->api->config.ctl;
    struct attempt_log *logs;
    size_t n = 0;
    if (!answer_may_read(ctl, &call->who, ask->job)) {
        err_set(err, ERR_NOT_FOUND, "no such job");
        return NULL;
    }
    if (answer_logs(ctl, arena, ask->job, &logs, &n, err) < 0)
        return NULL;
    const struct attempt_log *log = find(ask, logs, n);
    if (!log)
        err_set(err, ERR_NOT_FOUND, "there is no output of %s/%u", ask->role, ask->index);
    return log;
}

int facade_log_text(struct call *call, const struct facade_log *ask, struct buf *out,
                    struct err *err)
{
    const struct attempt_log *log = look_up(call, call->arena, ask, err);
    if (!log || limit_check(call, LIMIT_LOG, err) < 0)
        return -1;
    read_log(ask, log->dir, out);
    limit_take(call, LIMIT_LOG, out->len);
    return 0;
}

int facade_log_lines(struct call *call, const struct facade_log *ask, struct words *out,
                     struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(SIZE_MAX / 2);
    size_t n = 0;
    if (facade_log_text(call, ask, &text, err) < 0)
        return -1;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    out->at = ARENA_ARRAY(call->arena, n + 1, const char *);
    out->n = 0;
    const char *at = buf_str(&text), *end = at + text.len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        out->at[out->n++] = arena_strndup(call->arena, at, (size_t)(stop - at));
        at = stop + 1;
    }
    return 0;
}

/* ---- as a stream ---- */

struct log_stream {
    struct follower follower; /* first */
    struct facade_log ask;    /* of one attempt */
    struct task_ref task;
    struct log_reader *reader;
    struct lines lines;
    struct buf text;  /* of one record */
    size_t skip;      /* bytes of the first one */
    uint64_t at;      /* where reading goes on */
    bool read, ended; /* all that is there; no more comes */
};

static struct log_stream *of_follower(struct follower *f)
{
    return (struct log_stream *)(void *)f;
}

static bool spent(const struct log_stream *s)
{
    return s->ask.limited && s->ask.limit == 0;
}

static void send(struct log_stream *s)
{
    size_t len = s->text.len;
    if (s->ask.limited && len > s->ask.limit)
        len = (size_t)s->ask.limit;
    s->ask.limit -= s->ask.limited ? len : 0;
    limit_take(s->follower.call, LIMIT_LOG, len);
    if (len)
        http_stream_write(s->follower.call->request, s->text.data, len);
    buf_clear(&s->text);
}

static void drain(struct log_stream *s)
{
    struct log_item item;
    while (!s->read && !spent(s) && http_stream_room(s->follower.call->request) > 0) {
        s->read = log_reader_next(s->reader, &item) != 1;
        if (!s->read && wanted(&s->ask, &item) && follow_pauses(&s->follower)) {
            log_reader_seek(s->reader, s->at);
            return;
        }
        s->at = s->read ? s->at : item.end;
        if (s->read || !wanted(&s->ask, &item))
            continue;
        add_item(&s->lines, &item, item.gap ? 0 : s->skip);
        s->skip = item.gap ? s->skip : 0;
        send(s);
    }
}

static bool over(struct log_stream *s)
{
    const char *state;
    struct err err;
    if (!s->ask.follow || follow_final(&s->follower, &state))
        return true;
    struct arena *arena = arena_create();
    const struct attempt_log *log = look_up(s->follower.call, arena, &s->ask, &err);
    bool final = !log || log->final;
    arena_destroy(arena);
    return final;
}

static void pump(struct follower *f)
{
    struct log_stream *s = of_follower(f);
    if (s->ended)
        return;
    bool last = over(s); /* asked before reading */
    s->read &= !last;
    drain(s);
    if (!spent(s) && (!last || !s->read))
        return;
    s->ended = true;
    follow_end(f);
}

static void on_log(struct follower *f, uint64_t job, struct task_ref task, uint32_t attempt)
{
    struct log_stream *s = of_follower(f);
    (void)job;
    if (s->ended || task.role != s->task.role || task.index != s->task.index ||
        attempt != s->ask.attempt)
        return;
    s->read = false;
    drain(s);
}

static void fini(struct follower *f)
{
    struct log_stream *s = of_follower(f);
    log_reader_destroy(s->reader);
    buf_fini(&s->text);
}

static void begin_at(struct log_stream *s)
{
    struct log_tail tail = { .stream = s->ask.stream, .lines = s->ask.lines };
    struct log_item item;
    if (s->ask.skips) {
        for (int got; (got = log_reader_next(s->reader, &item)) != 0;)
            s->at = got == 1 ? item.end : s->at;
    } else if (s->ask.lines) {
        log_tail_find(s->reader, &tail);
        log_reader_seek(s->reader, tail.offset);
        s->skip = tail.skip;
        s->at = tail.offset;
    }
}

int facade_log_stream(struct call *call, const struct facade_log *ask, struct err *err)
{
    const struct attempt_log *log = look_up(call, call->arena, ask, err);
    if (!log || limit_check(call, LIMIT_LOG, err) < 0)
        return -1;
    struct log_stream *s = mem_new(sizeof *s);
    *s = (struct log_stream){ .ask = *ask, .text = { .max = SIZE_MAX / 2 } };
    s->follower = (struct follower){
        .call = call, .job = log->job, .pump = pump, .log = on_log, .fini = fini
    };
    s->ask.role = arena_strdup(call->arena, ask->role);
    s->ask.attempt = log->attempt;
    s->ask.until_us = 0;
    s->task = (struct task_ref){ .role = (uint16_t)log->role, .index = log->index };
    s->lines = (struct lines){ .ask = &s->ask, .out = &s->text };
    s->reader = log_reader_create(log->dir, 0);
    begin_at(s);
    follow_begin(&s->follower, "text/plain");
    return 0;
}
