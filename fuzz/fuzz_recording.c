/* Fuzz target: bytes of a damaged recording through the readers of every entry. An entry that is
 * read must be written, read again, and written as the same bytes. */
#include "base/arena.h"
#include "base/err.h"
#include "replay/entry.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct two {
    struct buf first, second;
};

static struct frame frame_of(const void *data, size_t size)
{
    return (struct frame){ .kind = FRAME_HEADER, .body = data, .len = size };
}

static void same(struct two *out)
{
    if (out->first.len != out->second.len ||
        memcmp(out->first.data, out->second.data, out->first.len) != 0)
        BUG("an entry is written in two forms");
    buf_clear(&out->first);
    buf_clear(&out->second);
}

#define AGAIN(name, type)                                                                          \
    static void again_##name(const struct frame *frame, struct arena *arena, struct two *out)      \
    {                                                                                              \
        struct type entry;                                                                         \
        if (!entry_get_##name(frame, arena, &entry))                                               \
            return;                                                                                \
        entry_put_##name(&out->first, &entry);                                                     \
        struct frame written = frame_of(out->first.data, out->first.len);                          \
        if (!entry_get_##name(&written, arena, &entry))                                            \
            BUG("a written " #name " is not read");                                                \
        entry_put_##name(&out->second, &entry);                                                    \
        same(out);                                                                                 \
    }
AGAIN(header, recording_header)
AGAIN(refusal, recorded_refusal)
AGAIN(decision, ctl_decision)

static void again_input(const struct frame *frame, struct arena *arena, struct two *out)
{
    struct ctl_input input;
    if (!entry_get_input(frame, arena, NULL, &input))
        return;
    entry_put_input(&out->first, &input, NULL);
    struct frame written = frame_of(out->first.data, out->first.len);
    if (!entry_get_input(&written, arena, NULL, &input))
        BUG("a written input of kind %d is not read", (int)input.kind);
    entry_put_input(&out->second, &input, NULL);
    same(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct frame frame = frame_of(data, size);
    struct two out;
    buf_init(&out.first, 4u << 20);
    buf_init(&out.second, 4u << 20);
    again_input(&frame, arena, &out);
    again_header(&frame, arena, &out);
    again_refusal(&frame, arena, &out);
    again_decision(&frame, arena, &out);
    buf_fini(&out.first);
    buf_fini(&out.second);
    arena_destroy(arena);
    return 0;
}
