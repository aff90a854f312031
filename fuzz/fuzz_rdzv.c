/* Fuzz target: bytes from a stranger through the frame cutter and every decoder of the rendezvous.
 * A message that decodes must encode, decode again, and encode to the same bytes. */
#include "base/arena.h"
#include "base/err.h"
#include "wire/rendezvous.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct message {
    _Alignas(max_align_t) char any[CODEC_MESSAGE_MOST];
};

static int get(const struct rdzv_frame_data *frame, struct arena *arena, struct message *out)
{
    bool body = rdzv_messages[frame->kind - RDZV_FRAME_JOIN].rows;
    return body ? rdzv_get_as(frame, arena, frame->kind, out) : -1;
}

static void there_and_back(const struct rdzv_frame_data *frame, struct arena *arena)
{
    struct message message;
    memset(&message, 0, sizeof message);
    if (get(frame, arena, &message) != 0)
        return;
    AUTO_BUF struct buf first = BUF_INIT(WIRE_MAX_FRAME + WIRE_HEAD);
    AUTO_BUF struct buf second = BUF_INIT(WIRE_MAX_FRAME + WIRE_HEAD);
    rdzv_put_as(&first, frame->kind, &message);
    struct rdzv_frame_data written;
    size_t used;
    if (rdzv_next(first.data, first.len, &written, &used) != 1 || used != first.len)
        BUG("a written frame is not one frame");
    /* What an older launcher left out at the end of these two is written. */
    bool grows = frame->kind == RDZV_FRAME_JOIN || frame->kind == RDZV_FRAME_REPORT;
    if (written.len < frame->len || (written.len > frame->len && !grows) ||
        memcmp(written.body, frame->body, frame->len) != 0)
        BUG("a frame of kind %d was read and is written otherwise", (int)frame->kind);
    memset(&message, 0, sizeof message);
    if (get(&written, arena, &message) != 0)
        BUG("a written frame of kind %d does not read", (int)frame->kind);
    rdzv_put_as(&second, frame->kind, &message);
    if (second.len != first.len || memcmp(first.data, second.data, first.len) != 0)
        BUG("a frame of kind %d changes each time", (int)frame->kind);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct rdzv_frame_data frame;
    size_t used = 0;
    for (size_t at = 0; rdzv_next(data + at, size - at, &frame, &used) == 1; at += used)
        there_and_back(&frame, arena);
    if (size > 0) { /* a bare body of any kind */
        frame = (struct rdzv_frame_data){
            .kind = (enum rdzv_frame)(RDZV_FRAME_JOIN + data[0] % (RDZV_FRAME_N - RDZV_FRAME_JOIN)),
            .body = data + 1,
            .len = size - 1,
        };
        there_and_back(&frame, arena);
    }
    arena_destroy(arena);
    return 0;
}
