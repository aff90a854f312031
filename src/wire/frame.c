/* Frames as bytes: little endian, explicit lengths, one bounds check per getter. No I/O; the only
 * memory is the caller's buffer and arena. A frame that did not fit into its buffer is taken back
 * whole by wire_end, so that a peer never sees half of one. */
#include "wire/frame.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/little_endian.h"

#include <string.h>

#define LENGTH_BYTES 4u
#define AFTER_LENGTH (WIRE_HEAD - LENGTH_BYTES) /* kind and sequence */
#define NULL_TEXT    0xffffffffu

static inline void put(struct buf *out, uint64_t value, size_t n)
{
    char *at = buf_room(out, n);
    if (at)
        little_endian_put(at, value, n);
}

int wire_next(const void *data, size_t len, struct wire_frame *frame, size_t *used)
{
    const struct wire_kinds agents = { .first = WIRE_NONE + 1, .end = WIRE_KIND_N };
    return wire_next_of(agents, data, len, frame, used);
}

int wire_next_of(struct wire_kinds kinds, const void *data, size_t len, struct wire_frame *frame,
                 size_t *used)
{
    const unsigned char *at = data;
    if (len < LENGTH_BYTES)
        return 0;
    size_t rest = (size_t)little_endian_get(at, LENGTH_BYTES);
    if (rest < AFTER_LENGTH || rest > WIRE_MAX_FRAME)
        return -1;
    if (len > LENGTH_BYTES && (at[4] < kinds.first || at[4] >= kinds.end))
        return -1;
    if (len - LENGTH_BYTES < rest)
        return 0;
    *frame = (struct wire_frame){
        .kind = (enum wire_kind)at[4],
        .seq = little_endian_get(at + 5, 8),
        .body = at + WIRE_HEAD,
        .len = rest - AFTER_LENGTH,
    };
    *used = LENGTH_BYTES + rest;
    return 1;
}

size_t wire_begin(struct buf *out, enum wire_kind kind, uint64_t seq)
{
    size_t mark = out->len;
    put(out, 0, LENGTH_BYTES);
    wire_put_u8(out, (uint8_t)kind);
    wire_put_u64(out, seq);
    return mark;
}

void wire_end(struct buf *out, size_t mark)
{
    size_t rest = out->len - mark;
    if (!out->overflow && rest - LENGTH_BYTES > WIRE_MAX_FRAME)
        out->overflow = true;
    if (out->overflow) {
        out->len = mark;
        if (out->data)
            out->data[mark] = '\0';
        return;
    }
    if (rest < WIRE_HEAD)
        BUG("wire_end without wire_begin");
    rest -= LENGTH_BYTES;
    little_endian_put(out->data + mark, rest, LENGTH_BYTES);
}

void wire_put_u8(struct buf *out, uint8_t value)
{
    put(out, value, 1);
}

void wire_put_u16(struct buf *out, uint16_t value)
{
    put(out, value, 2);
}

void wire_put_u32(struct buf *out, uint32_t value)
{
    put(out, value, 4);
}

void wire_put_u64(struct buf *out, uint64_t value)
{
    put(out, value, 8);
}

void wire_put_str(struct buf *out, const char *text)
{
    if (text)
        wire_put_bytes(out, text, strlen(text));
    else
        wire_put_u32(out, NULL_TEXT);
}

void wire_put_bytes(struct buf *out, const void *data, size_t n)
{
    if (n > WIRE_MAX_FRAME) {
        out->overflow = true;
        return;
    }
    wire_put_u32(out, (uint32_t)n);
    if (n > 0)
        buf_add(out, data, n);
}

struct wire_reader wire_read(const struct wire_frame *frame)
{
    return (struct wire_reader){ .at = frame->body, .end = frame->body + frame->len };
}

/* n bytes at the cursor, or NULL; failure sticks. */
static const unsigned char *take(struct wire_reader *from, size_t n)
{
    if (from->bad || (size_t)(from->end - from->at) < n) {
        from->bad = true;
        return NULL;
    }
    const unsigned char *at = from->at;
    from->at += n;
    return at;
}

uint8_t wire_get_u8(struct wire_reader *from)
{
    const unsigned char *at = take(from, 1);
    return at ? at[0] : 0;
}

uint16_t wire_get_u16(struct wire_reader *from)
{
    const unsigned char *at = take(from, 2);
    return at ? (uint16_t)little_endian_get(at, 2) : 0;
}

uint32_t wire_get_u32(struct wire_reader *from)
{
    const unsigned char *at = take(from, 4);
    return at ? (uint32_t)little_endian_get(at, 4) : 0;
}

uint64_t wire_get_u64(struct wire_reader *from)
{
    const unsigned char *at = take(from, 8);
    return at ? little_endian_get(at, 8) : 0;
}

const void *wire_get_bytes(struct wire_reader *from, size_t *len)
{
    uint32_t n = wire_get_u32(from);
    const unsigned char *at = take(from, n);
    *len = at ? n : 0;
    return at;
}

const char *wire_get_str(struct wire_reader *from, struct arena *arena)
{
    uint32_t n = wire_get_u32(from);
    if (from->bad || n == NULL_TEXT)
        return NULL;
    const unsigned char *at = take(from, n);
    if (!at)
        return NULL;
    if (n > 0 && memchr(at, '\0', n)) {
        from->bad = true;
        return NULL;
    }
    return arena_strndup(arena, (const char *)at, n);
}

uint32_t wire_get_count(struct wire_reader *from, size_t min)
{
    uint32_t n = wire_get_u32(from);
    if (!from->bad && n > 0 && (min == 0 || n > (size_t)(from->end - from->at) / min))
        from->bad = true;
    return from->bad ? 0 : n;
}
