/* A list of encoded facts. Slots are reserved at launch (three facts a task), so that reporting an
 * end needs no memory that could be missing then. */
#include "node/outbox.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

/* Head, fixed fields, reason (bounded by its makers) and tail of the largest fact. */
#define FACT_MAX (ENDING_TAIL_MAX + 1024u)

struct slot {
    struct slot *next;
    uint64_t seq;
    size_t len;
    unsigned char bytes[FACT_MAX];
};

struct outbox {
    struct slot *first, *last, *spare;
    uint64_t next_seq;
    struct buf scratch;
};

struct outbox *outbox_create(void)
{
    struct outbox *box = mem_new(sizeof *box);
    box->next_seq = 1;
    buf_init(&box->scratch, FACT_MAX);
    return box;
}

static void free_slots(struct slot *slot)
{
    while (slot) {
        struct slot *next = slot->next;
        free(slot);
        slot = next;
    }
}

void outbox_destroy(struct outbox *box)
{
    if (!box)
        return;
    free_slots(box->first);
    free_slots(box->spare);
    buf_fini(&box->scratch);
    free(box);
}

void outbox_reserve(struct outbox *box, size_t n)
{
    while (n-- > 0) {
        struct slot *slot =
            malloc(sizeof *slot); /* not zeroed: its pages stay untouched until used */
        if (!slot)
            BUG("no memory for the facts of a launch");
        slot->next = box->spare;
        box->spare = slot;
    }
}

uint64_t outbox_add(struct outbox *box, const struct wire_fact *fact)
{
    if (!box->spare)
        outbox_reserve(box, 1);
    struct slot *slot = box->spare;
    box->spare = slot->next;
    slot->next = NULL;
    slot->seq = box->next_seq++;
    buf_clear(&box->scratch);
    wire_put(&box->scratch, slot->seq, fact);
    if (box->scratch.overflow)
        BUG("a fact is longer than %u bytes", FACT_MAX);
    slot->len = box->scratch.len;
    memcpy(slot->bytes, box->scratch.data, slot->len);
    if (box->last)
        box->last->next = slot;
    else
        box->first = slot;
    box->last = slot;
    return slot->seq;
}

void outbox_ack(struct outbox *box, uint64_t seq)
{
    while (box->first && box->first->seq <= seq) {
        struct slot *slot = box->first;
        box->first = slot->next;
        if (!box->first)
            box->last = NULL;
        free(slot);
    }
}

uint64_t outbox_first(const struct outbox *box)
{
    return box->first ? box->first->seq : box->next_seq;
}

bool outbox_is_empty(const struct outbox *box)
{
    return box->first == NULL;
}

void outbox_write(const struct outbox *box, uint64_t after, struct buf *out)
{
    for (const struct slot *slot = box->first; slot; slot = slot->next)
        if (slot->seq > after)
            buf_add(out, slot->bytes, slot->len);
}
