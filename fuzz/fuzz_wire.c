/* Fuzz target: bytes from a peer through the frame cutter and every decoder, and log bytes through
 * the record reader. A message that decodes must encode and decode again. */
#include "base/arena.h"
#include "base/err.h"
#include "wire/message.h"
#include "wire/record.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct message {
    _Alignas(max_align_t) char any[CODEC_MESSAGE_MOST];
};

/* As if it were of that kind. */
static void decode(const struct wire_frame *frame, enum wire_kind kind, struct arena *arena)
{
    AUTO_BUF struct buf out = BUF_INIT(WIRE_MAX_FRAME + WIRE_HEAD);
    struct message message;
    struct wire_frame written;
    size_t used;
    if (wire_get_as(frame, arena, kind, &message) != 0)
        return;
    wire_put_as(&out, kind, frame->seq, &message);
    if (wire_next(out.data, out.len, &written, &used) != 1 || used != out.len)
        BUG("a written frame is not one frame");
    if (wire_get_as(&written, arena, kind, &message) != 0)
        BUG("a written frame of kind %d does not read", (int)kind);
}

static void decode_all(const struct wire_frame *frame, struct arena *arena)
{
    for (enum wire_kind kind = WIRE_NONE; kind < WIRE_KIND_N; kind++)
        if (wire_messages[kind].rows)
            decode(frame, kind, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct wire_frame frame;
    size_t used = 0;
    for (size_t at = 0; wire_next(data + at, size - at, &frame, &used) == 1; at += used)
        decode_all(&frame, arena);
    struct wire_frame bare = { .kind = WIRE_LAUNCH, .body = data, .len = size };
    decode_all(&bare, arena);
    struct record record;
    for (size_t at = 0; record_get(data + at, size - at, &record) == 1;) {
        if (record.len > size - at - RECORD_HEAD)
            break;
        at += RECORD_HEAD + record.len;
    }
    arena_destroy(arena);
    return 0;
}
