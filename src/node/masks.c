/* Each line of a value is a mask; a long line is several, and its last piece overlaps the one
 * before, so that none is short. All are looked for before any is overwritten, so that one may lie
 * over another. */
#include "node/masks.h"

#include "base/mem.h"

#include <string.h>

struct match {
    size_t at, len;
};

void masks_fini(struct masks *masks)
{
    for (size_t i = 0; i < masks->list.n; i++) {
        explicit_bzero(masks->list.at[i].at, masks->list.at[i].len);
        free(masks->list.at[i].at);
    }
    vec_fini(&masks->list);
}

static void add_piece(struct masks *masks, const char *at, size_t len)
{
    size_t place = 0;
    for (size_t i = 0; i < masks->list.n; i++) {
        const struct mask *one = &masks->list.at[i];
        if (one->len == len && memcmp(one->at, at, len) == 0)
            return;
        place += one->len >= len;
    }
    struct mask mask = { .at = mem_new(len), .len = len };
    memcpy(mask.at, at, len);
    (void)vec_add(&masks->list);
    memmove(&masks->list.at[place + 1], &masks->list.at[place],
            (masks->list.n - 1 - place) * sizeof mask);
    masks->list.at[place] = mask;
}

static void add_line(struct masks *masks, const char *at, size_t len)
{
    if (len > 0 && at[len - 1] == '\r')
        len--;
    if (len < MASK_LEAST)
        return;
    for (size_t from = 0; from + MASK_PIECE < len; from += MASK_PIECE)
        add_piece(masks, at + from, MASK_PIECE);
    size_t last = len > MASK_PIECE ? MASK_PIECE : len;
    add_piece(masks, at + len - last, last);
}

void masks_add(struct masks *masks, const void *value, size_t len)
{
    const char *at = value;
    while (len > 0) {
        const char *end = memchr(at, '\n', len);
        size_t line = end ? (size_t)(end - at) : len;
        add_line(masks, at, line);
        line += end != NULL;
        at += line;
        len -= line;
    }
}

size_t masks_cover(const struct masks *masks, char *bytes, size_t upto, size_t len)
{
    size_t covered = upto;
    VEC(struct match) all = { .at = NULL };
    for (size_t i = 0; i < masks->list.n; i++) {
        const struct mask *mask = &masks->list.at[i];
        for (char *from = bytes;
             (from = memmem(from, len - (size_t)(from - bytes), mask->at, mask->len)); from++)
            vec_push(&all, ((struct match){ (size_t)(from - bytes), mask->len }));
    }
    for (size_t i = 0; i < all.n; i++) {
        size_t at = all.at[i].at, end = at + all.at[i].len;
        if (at >= upto)
            continue;
        memset(bytes + at, '*', (end < upto ? end : upto) - at);
        covered = end > covered ? end : covered;
    }
    vec_fini(&all);
    return covered - upto;
}

size_t masks_open(const struct masks *masks, const char *bytes, size_t len)
{
    size_t longest = 0;
    for (size_t i = 0; i < masks->list.n; i++) {
        const struct mask *mask = &masks->list.at[i];
        for (size_t n = mask->len - 1 < len ? mask->len - 1 : len; n > longest; n--)
            if (memcmp(bytes + len - n, mask->at, n) == 0) {
                longest = n;
                break;
            }
    }
    return longest;
}
