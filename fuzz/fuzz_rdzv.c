/* Fuzz target: bytes from a stranger through the frame cutter and every decoder of the rendezvous.
 * A message that decodes must encode, decode again, and encode to the same bytes. */
#include "base/arena.h"
#include "base/err.h"
#include "wire/rendezvous.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

union message {
    struct rdzv_join join;
    struct rdzv_report report;
    struct rdzv_checked checked;
    struct rdzv_leave leave;
    struct {
        const char *type, *text;
    } event;
    struct rdzv_welcome welcome;
    struct rdzv_round round;
    struct rdzv_check check;
    struct rdzv_stop stop;
    struct rdzv_end end;
    struct rdzv_refused refused;
    struct rdzv_moved moved;
    struct rdzv_note note;
};

static int get(const struct rdzv_frame_in *frame, struct arena *arena, union message *out)
{
    switch (frame->kind) {
    case RDZV_FRAME_JOIN: return rdzv_get_join(frame, arena, &out->join);
    case RDZV_FRAME_REPORT: return rdzv_get_report(frame, arena, &out->report);
    case RDZV_FRAME_CHECKED: return rdzv_get_checked(frame, arena, &out->checked);
    case RDZV_FRAME_LEAVE: return rdzv_get_leave(frame, arena, &out->leave);
    case RDZV_FRAME_EVENT: return rdzv_get_event(frame, arena, &out->event.type, &out->event.text);
    case RDZV_FRAME_WELCOME: return rdzv_get_welcome(frame, arena, &out->welcome);
    case RDZV_FRAME_ROUND: return rdzv_get_round(frame, arena, &out->round);
    case RDZV_FRAME_CHECK: return rdzv_get_check(frame, arena, &out->check);
    case RDZV_FRAME_STOP: return rdzv_get_stop(frame, arena, &out->stop);
    case RDZV_FRAME_END: return rdzv_get_end(frame, arena, &out->end);
    case RDZV_FRAME_REFUSED: return rdzv_get_refused(frame, arena, &out->refused);
    case RDZV_FRAME_MOVED:
    case RDZV_FRAME_LEAD: return rdzv_get_moved(frame, arena, &out->moved);
    case RDZV_FRAME_NOTE: return rdzv_get_note(frame, arena, &out->note);
    case RDZV_FRAME_BEAT:
    case RDZV_FRAME_N: break;
    }
    return -1;
}

static void put(enum rdzv_frame kind, const union message *message, struct buf *out)
{
    switch (kind) {
    case RDZV_FRAME_JOIN: rdzv_put_join(out, &message->join); break;
    case RDZV_FRAME_REPORT: rdzv_put_report(out, &message->report); break;
    case RDZV_FRAME_CHECKED: rdzv_put_checked(out, &message->checked); break;
    case RDZV_FRAME_LEAVE: rdzv_put_leave(out, &message->leave); break;
    case RDZV_FRAME_EVENT: rdzv_put_event(out, message->event.type, message->event.text); break;
    case RDZV_FRAME_WELCOME: rdzv_put_welcome(out, &message->welcome); break;
    case RDZV_FRAME_ROUND: rdzv_put_round(out, &message->round); break;
    case RDZV_FRAME_CHECK: rdzv_put_check(out, &message->check); break;
    case RDZV_FRAME_STOP: rdzv_put_stop(out, &message->stop); break;
    case RDZV_FRAME_END: rdzv_put_end(out, &message->end); break;
    case RDZV_FRAME_REFUSED: rdzv_put_refused(out, &message->refused); break;
    case RDZV_FRAME_MOVED:
    case RDZV_FRAME_LEAD: rdzv_put_moved(out, kind, &message->moved); break;
    case RDZV_FRAME_NOTE: rdzv_put_note(out, &message->note); break;
    case RDZV_FRAME_BEAT:
    case RDZV_FRAME_N: break;
    }
}

static void there_and_back(const struct rdzv_frame_in *frame, struct arena *arena)
{
    union message message;
    memset(&message, 0, sizeof message);
    if (get(frame, arena, &message) != 0)
        return;
    AUTO_BUF struct buf first = BUF_INIT(WIRE_MAX_FRAME + WIRE_HEAD);
    AUTO_BUF struct buf second = BUF_INIT(WIRE_MAX_FRAME + WIRE_HEAD);
    put(frame->kind, &message, &first);
    struct rdzv_frame_in written;
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
    put(frame->kind, &message, &second);
    if (second.len != first.len || memcmp(first.data, second.data, first.len) != 0)
        BUG("a frame of kind %d changes each time", (int)frame->kind);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct rdzv_frame_in frame;
    size_t used = 0;
    for (size_t at = 0; rdzv_next(data + at, size - at, &frame, &used) == 1; at += used)
        there_and_back(&frame, arena);
    if (size > 0) { /* a bare body of any kind */
        frame = (struct rdzv_frame_in){
            .kind = (enum rdzv_frame)(RDZV_FRAME_JOIN + data[0] % (RDZV_FRAME_N - RDZV_FRAME_JOIN)),
            .body = data + 1,
            .len = size - 1,
        };
        there_and_back(&frame, arena);
    }
    arena_destroy(arena);
    return 0;
}
