/* A queue of buffers. Text is added to the last one until that is full and read from the first,
 * which is freed when all of it was read. */
#include "base/pieces.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

struct pieces {
    VEC(struct buf) at;
    size_t whole;       /* bytes of all pieces but the last, with those that were taken */
    size_t first, from; /* the piece that is read, and where */
};

struct pieces *pieces_create(void)
{
    return mem_new(sizeof(struct pieces));
}

void pieces_destroy(struct pieces *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->at.n; i++)
        buf_fini(&p->at.at[i]);
    vec_fini(&p->at);
    free(p);
}

struct buf *pieces_end(struct pieces *p)
{
    struct buf *last = p->at.n ? &p->at.at[p->at.n - 1] : NULL;
    if (last && last->len < PIECE_BYTES)
        return last;
    p->whole += last ? last->len : 0;
    last = vec_add(&p->at);
    buf_init(last, SIZE_MAX / 2);
    return last;
}

size_t pieces_len(const struct pieces *p)
{
    return p->whole + (p->at.n ? p->at.at[p->at.n - 1].len : 0);
}

size_t pieces_take(struct pieces *p, char *out, size_t max)
{
    size_t taken = 0;
    while (taken < max && p->first < p->at.n) {
        struct buf *piece = &p->at.at[p->first];
        size_t left = piece->len - p->from, n = left < max - taken ? left : max - taken;
        if (n)
            memcpy(out + taken, piece->data + p->from, n);
        taken += n;
        p->from += n;
        if (p->from < piece->len)
            break;
        buf_fini(piece);
        p->first++;
        p->from = 0;
    }
    return taken;
}
