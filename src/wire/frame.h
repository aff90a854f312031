/* Frames between server, agent and attached clients: u32 length (little endian, of what follows),
 * u8 kind, u64 sequence, body. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION   1
#define WIRE_MAX_FRAME (16u << 20)
#define WIRE_HEAD      13 /* bytes before the body */

/* Who sends which, and what they mean: wire_messages (message.c), doc/protocol.md. */
#define WIRE_KINDS(X)                                                                              \
    X(HELLO)                                                                                       \
    X(WELCOME)                                                                                     \
    X(LAUNCH)                                                                                      \
    X(STOP)                                                                                        \
    X(FACT)                                                                                        \
    X(ACK)                                                                                         \
    X(LOG)                                                                                         \
    X(RELEASE)                                                                                     \
    X(PING)                                                                                        \
    X(PONG)                                                                                        \
    X(EXEC)                                                                                        \
    X(STDIN)                                                                                       \
    X(STDOUT)                                                                                      \
    X(STDERR)                                                                                      \
    X(RESIZE)                                                                                      \
    X(EXIT)                                                                                        \
    X(LAUNCHER_OPEN)                                                                               \
    X(LAUNCHER_DATA)                                                                               \
    X(LAUNCHER_CLOSE)                                                                              \
    X(SIGNAL)                                                                                      \
    X(SIGNALLED)                                                                                   \
    X(ATTACH)                                                                                      \
    X(REACHED)                                                                                     \
    X(HOST_HELLO)                                                                                  \
    X(HOST_RUNS)                                                                                   \
    X(HOST_START)                                                                                  \
    X(HOST_END)                                                                                    \
    X(HOST_ENDED)                                                                                  \
    X(HOST_CLEAN)                                                                                  \
    X(LOG_BYTES)                                                                                   \
    X(LOG_KEPT)                                                                                    \
    X(WANT)                                                                                        \
    X(PIECE)                                                                                       \
    X(FILE)                                                                                        \
    X(HOST_JOIN)                                                                                   \
    X(HOST_JOINED)                                                                                 \
    X(SECRETS)                                                                                     \
    X(HOST_IMAGE)                                                                                  \
    X(HOST_IMAGE_DROP)                                                                             \
    X(HOST_IMAGE_NEWS)                                                                             \
    X(HOST_STORE)
#define WIRE_ENUM(id) WIRE_##id,
enum wire_kind { WIRE_NONE, WIRE_KINDS(WIRE_ENUM) WIRE_KIND_N };
#undef WIRE_ENUM

struct wire_frame {
    enum wire_kind kind;
    uint64_t seq;
    const unsigned char *body;
    size_t len;
};
/* Takes one frame from the front of data. 1: *frame points into data, *used bytes are done; 0: more
 * bytes needed; -1: broken. */
int wire_next(const void *data, size_t len, struct wire_frame *frame, size_t *used);
/* The same of another list of kinds. */
struct wire_kinds {
    unsigned first, end;
};
int wire_next_of(struct wire_kinds, const void *data, size_t len, struct wire_frame *,
                 size_t *used);

/* Writing: begin, put..., end (patches the length). Texts are u32 length + bytes; NULL is length
 * 0xffffffff. */
size_t wire_begin(struct buf *, enum wire_kind, uint64_t seq); /* the mark for wire_end */
void wire_end(struct buf *, size_t mark);
void wire_put_u8(struct buf *, uint8_t);
void wire_put_u16(struct buf *, uint16_t);
void wire_put_u32(struct buf *, uint32_t);
void wire_put_u64(struct buf *, uint64_t);
void wire_put_str(struct buf *, const char *);
void wire_put_bytes(struct buf *, const void *, size_t);

/* Reading: a cursor that remembers failure; getters give 0 / NULL / "" after one. */
struct wire_reader {
    const unsigned char *at, *end;
    bool bad;
};
struct wire_reader wire_read(const struct wire_frame *);
uint8_t wire_get_u8(struct wire_reader *);
uint16_t wire_get_u16(struct wire_reader *);
uint32_t wire_get_u32(struct wire_reader *);
uint64_t wire_get_u64(struct wire_reader *);
struct arena;
const char *wire_get_str(struct wire_reader *,
                         struct arena *); /* copied; NUL inside is bad; may be NULL */
const void *wire_get_bytes(struct wire_reader *, size_t *len); /* points into the frame */
/* A count of elements that each take at least min bytes: bad when the rest of the frame cannot hold
 * them. */
uint32_t wire_get_count(struct wire_reader *, size_t min);

#endif
