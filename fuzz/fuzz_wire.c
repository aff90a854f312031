/* Fuzz target: bytes from a peer through the frame cutter and every decoder, and log bytes through
 * the record reader. A message that decodes must encode and decode again. */
#include "base/arena.h"
#include "base/err.h"
#include "wire/message.h"
#include "wire/record.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const struct buf *out, struct arena *arena)
{
    struct wire_frame frame;
    size_t used;
    if (wire_next(out->data, out->len, &frame, &used) != 1 || used != out->len)
        BUG("a written frame is not one frame");
    struct launch launch;
    struct wire_fact fact;
    struct wire_exec exec;
    int rc = frame.kind == WIRE_LAUNCH ? wire_get_launch(&frame, arena, &launch)
             : frame.kind == WIRE_FACT ? wire_get_fact(&frame, arena, &fact)
                                       : wire_get_exec(&frame, arena, &exec);
    if (rc != 0)
        BUG("a written frame of kind %d does not read", frame.kind);
}

static void decode(const struct wire_frame *frame, struct arena *arena)
{
    AUTO_BUF struct buf out = BUF_INIT(WIRE_MAX_FRAME + WIRE_HEAD);
    struct launch launch;
    struct wire_fact fact;
    struct wire_exec exec;
    struct wire_hello hello;
    struct wire_stop stop;
    struct wire_log log;
    struct wire_data bytes;
    struct wire_resize resize;
    struct wire_exit end;
    struct wire_signal signal;
    struct wire_signalled signalled;
    struct wire_attach attach;
    struct wire_reached reached;
    if (wire_get_launch(frame, arena, &launch) == 0) {
        wire_put_launch(&out, &launch);
        again(&out, arena);
        buf_clear(&out);
    }
    if (wire_get_fact(frame, arena, &fact) == 0) {
        wire_put_fact(&out, frame->seq, &fact);
        again(&out, arena);
        buf_clear(&out);
    }
    if (wire_get_exec(frame, arena, &exec) == 0) {
        wire_put_exec(&out, &exec);
        again(&out, arena);
    }
    (void)wire_get_hello(frame, arena, &hello);
    (void)wire_get_stop(frame, &stop);
    (void)wire_get_log(frame, &log);
    (void)wire_get_data(frame, &bytes);
    (void)wire_get_resize(frame, &resize);
    (void)wire_get_exit(frame, &end);
    (void)wire_get_signal(frame, &signal);
    (void)wire_get_signalled(frame, &signalled);
    (void)wire_get_attach(frame, &attach);
    (void)wire_get_reached(frame, &reached);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct wire_frame frame;
    size_t used = 0;
    for (size_t at = 0; wire_next(data + at, size - at, &frame, &used) == 1; at += used)
        decode(&frame, arena);
    struct wire_frame bare = { .kind = WIRE_LAUNCH, .body = data, .len = size };
    decode(&bare, arena);
    struct record record;
    for (size_t at = 0; record_get(data + at, size - at, &record) == 1;) {
        if (record.len > size - at - RECORD_HEAD)
            break;
        at += RECORD_HEAD + record.len;
    }
    arena_destroy(arena);
    return 0;
}
