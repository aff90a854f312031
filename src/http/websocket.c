/* Frames of RFC 6455 as a server reads and writes them: strict, because a client that is not
 * understood would type into a shell. No extensions, so the reserved bits are none. */
#include "http/websocket.h"

#include "base/scan.h"

#include <gnutls/crypto.h>
#include <sodium.h>
#include <stdint.h>
#include <string.h>

#define GUID      "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#define SHA1_SIZE 20
#define KEY_SIZE  16

#define FINAL       0x80u
#define RESERVED    0x70u
#define KIND        0x0fu
#define MASKED      0x80u
#define LENGTH      0x7fu
#define CONTROL_MAX 125
#define MASK_SIZE   4

bool websocket_accept(const char *key, char out[WEBSOCKET_ACCEPT])
{
    unsigned char raw[KEY_SIZE], hash[SHA1_SIZE];
    char text[64];
    size_t len = 0;
    if (strlen(key) != 24 || sodium_base642bin(raw, sizeof raw, key, 24, NULL, &len, NULL,
                                               sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    size_t n = 24 + sizeof GUID - 1;
    memcpy(text, key, 24);
    memcpy(text + 24, GUID, sizeof GUID - 1);
    if (len != KEY_SIZE || gnutls_hash_fast(GNUTLS_DIG_SHA1, text, n, hash) < 0)
        return false;
    sodium_bin2base64(out, WEBSOCKET_ACCEPT, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
    return true;
}

void websocket_init(struct websocket *w)
{
    *w = (struct websocket){ .pieces = BUF_INIT(WEBSOCKET_MESSAGE_MAX) };
}

void websocket_fini(struct websocket *w)
{
    buf_fini(&w->pieces);
}

/* ---- reading ---- */

struct frame {
    enum websocket_kind kind;
    bool final, control;
    size_t head; /* bytes before the data */
    uint64_t len;
};

static int broken(struct websocket *w, enum websocket_code fault)
{
    w->fault = fault;
    return -1;
}

static bool known(unsigned kind)
{
    return kind <= WEBSOCKET_BINARY || (kind >= WEBSOCKET_CLOSE && kind <= WEBSOCKET_PONG);
}

/* 1: the head is there; 0: more bytes are needed. Lengths are in their shortest form. */
static int read_head(struct websocket *w, const unsigned char *at, size_t len, struct frame *out)
{
    if (len < 2)
        return 0;
    unsigned wide = at[1] & LENGTH, extra = wide == 126 ? 2 : wide == 127 ? 8 : 0;
    *out = (struct frame){ .kind = (enum websocket_kind)(at[0] & KIND),
                           .final = at[0] & FINAL,
                           .control = at[0] & 8u,
                           .head = 2 + extra + MASK_SIZE,
                           .len = extra ? 0 : wide };
    if (at[0] & RESERVED || !known(at[0] & KIND) || !(at[1] & MASKED) ||
        (out->control && (!out->final || wide > CONTROL_MAX)))
        return broken(w, WEBSOCKET_BROKEN);
    if (len < out->head)
        return 0;
    for (unsigned i = 0; i < extra; i++)
        out->len = out->len << 8 | at[2 + i];
    if (extra && out->len < (extra == 2 ? 126u : 65536u))
        return broken(w, WEBSOCKET_BROKEN);
    return out->len > WEBSOCKET_MESSAGE_MAX ? broken(w, WEBSOCKET_TOO_LARGE) : 1;
}

static int whole(struct websocket *w, struct websocket_message *out)
{
    if (out->kind == WEBSOCKET_TEXT && !scan_utf8(out->data, out->len))
        return broken(w, WEBSOCKET_NO_TEXT);
    return 1;
}

/* A message in pieces: control frames may come between them, another message may not. */
static int piece(struct websocket *w, const struct frame *frame, struct websocket_message *out)
{
    if ((frame->kind == WEBSOCKET_MORE) != (w->begun != WEBSOCKET_MORE))
        return broken(w, WEBSOCKET_BROKEN);
    if (frame->final && frame->kind != WEBSOCKET_MORE)
        return whole(w, out);
    if (frame->kind != WEBSOCKET_MORE) {
        w->begun = frame->kind;
        buf_clear(&w->pieces);
    }
    buf_add(&w->pieces, out->data, out->len);
    if (w->pieces.overflow)
        return broken(w, WEBSOCKET_TOO_LARGE);
    *out = (struct websocket_message){ .kind = WEBSOCKET_MORE, .data = "" };
    if (!frame->final)
        return 1;
    *out = (struct websocket_message){ .kind = w->begun,
                                       .data = buf_str(&w->pieces),
                                       .len = w->pieces.len };
    w->begun = WEBSOCKET_MORE;
    return whole(w, out);
}

int websocket_next(struct websocket *w, char *data, size_t len, struct websocket_message *out,
                   size_t *used)
{
    struct frame frame;
    int rc = read_head(w, (const unsigned char *)data, len, &frame);
    if (rc <= 0 || len - frame.head < frame.len)
        return rc < 0 ? -1 : 0;
    const char *mask = data + frame.head - MASK_SIZE;
    char *body = data + frame.head;
    for (size_t i = 0; i < frame.len; i++)
        body[i] = (char)(body[i] ^ mask[i % MASK_SIZE]);
    *used = frame.head + (size_t)frame.len;
    *out =
        (struct websocket_message){ .kind = frame.kind, .data = body, .len = (size_t)frame.len };
    return frame.control ? 1 : piece(w, &frame, out);
}

/* ---- writing ---- */

void websocket_put(struct buf *out, enum websocket_kind kind, const void *data, size_t len)
{
    buf_putc(out, (char)(FINAL | (unsigned)kind));
    if (len <= CONTROL_MAX) {
        buf_putc(out, (char)len);
    } else {
        int bytes = len <= UINT16_MAX ? 2 : 8;
        buf_putc(out, (char)(bytes == 2 ? 126 : 127));
        for (int i = bytes - 1; i >= 0; i--)
            buf_putc(out, (char)((uint64_t)len >> (8 * i) & 255u));
    }
    if (len > 0)
        buf_add(out, data, len);
}

void websocket_put_close(struct buf *out, enum websocket_code code)
{
    const char text[2] = { (char)((unsigned)code >> 8), (char)((unsigned)code & 255u) };
    websocket_put(out, WEBSOCKET_CLOSE, text, sizeof text);
}
