/* What a task has written so far, as text or as lines: the last of it when there is more than is
 * asked for. The records are read front to back and what is too old is dropped on the way, so that
 * memory is bounded by what is answered. */
#include "api/facade.h"

#include "api/log_text.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stdio.h>
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

static void add_record(struct lines *l, const struct log_item *item)
{
    const char *data = (const char *)item->data;
    size_t len = item->record.len;
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
    if (l->out->len > 2 * l->max)
        keep_last(l);
}

static bool wanted(const struct facade_log *ask, const struct log_item *item)
{
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
        if (got > 0 && item.gap) {
            struct log_text gap = { .mid_line = l.mid_line };
            log_text_gap(&gap, "", item.gap, out);
            l.mid_line = false;
        } else if (got > 0 && wanted(ask, &item)) {
            add_record(&l, &item);
        }
    }
    log_reader_destroy(reader);
    cut_lines(out, ask->lines);
    keep_last(&l);
}

/* The attempt that is asked for; NULL: none. */
static const struct ctl_log *find(const struct facade_log *ask, const struct ctl_log *logs,
                                  size_t n)
{
    const struct ctl_log *last = NULL, *before = NULL;
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

int facade_log_text(struct call *call, const struct facade_log *ask, struct buf *out,
                    struct err *err)
{
    struct ctl_log *logs;
    size_t n = 0;
    if (!ctl_may_read(call->api->config.ctl, &call->who, ask->job))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    if (ctl_logs(call->api->config.ctl, call->arena, ask->job, &logs, &n, err) < 0)
        return -1;
    const struct ctl_log *log = find(ask, logs, n);
    if (!log)
        return err_set(err, ERR_NOT_FOUND, "there is no output of %s/%u", ask->role, ask->index);
    read_log(ask, log->dir, out);
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
