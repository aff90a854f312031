/* Lines for people out of records: the task's name in front, gaps, tails; base64 for output that is
 * no text. Whole lines only where several tasks mix. */
#include "api/log_text.h"

#include "base/mem.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static void begin_piece(struct log_text *t, const char *task, struct buf *out)
{
    if (t->mid_line && strcmp(t->last, task) != 0) {
        buf_putc(out, '\n');
        t->mid_line = false;
    }
    snprintf(t->last, sizeof t->last, "%s", task);
}

void log_text_add(struct log_text *t, const char *task, const char *data, size_t len,
                  struct buf *out)
{
    begin_piece(t, task, out);
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) + 1 : len;
        if (t->names && !t->mid_line)
            buf_addf(out, "%s  ", task);
        buf_add(out, data, n);
        t->mid_line = !end;
        data += n;
        len -= n;
    }
}

void log_text_gap(struct log_text *t, const char *task, uint64_t bytes, struct buf *out)
{
    begin_piece(t, task, out);
    if (t->mid_line)
        buf_putc(out, '\n');
    t->mid_line = false;
    buf_addf(out, "%s%s[%llu bytes of output were dropped here, over the log's limit]\n",
             t->names ? task : "", t->names ? "  " : "", (unsigned long long)bytes);
}

struct line_start {
    uint64_t offset; /* of the record */
    size_t skip;     /* bytes of it before the line */
};

void log_tail_find(struct log_reader *reader, struct log_tail *tail)
{
    struct line_start *ring = mem_new(tail->lines * sizeof *ring), first = { 0 };
    uint64_t n = 0;
    bool mid_line = false;
    struct log_item item;
    while (log_reader_next(reader, &item) == 1) {
        if (item.gap || (tail->stream && item.record.stream != tail->stream))
            continue;
        uint64_t start = item.end - RECORD_HEAD - item.record.len;
        for (size_t i = 0; i < item.record.len; i++) {
            if (!mid_line)
                ring[n++ % tail->lines] = (struct line_start){ .offset = start, .skip = i };
            mid_line = item.data[i] != '\n';
        }
    }
    if (n)
        first = ring[n > tail->lines ? n % tail->lines : 0];
    free(ring);
    tail->offset = first.offset;
    tail->skip = first.skip;
}

const char *log_base64(struct arena *a, const unsigned char *data, size_t len)
{
    size_t room = sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL);
    char *out = arena_alloc(a, room);
    return sodium_bin2base64(out, room, data, len, sodium_base64_VARIANT_ORIGINAL);
}
