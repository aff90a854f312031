/* What no output may show: values of secrets, found in bytes as they pass and overwritten. A value
 * is looked for line by line, in pieces, exactly as it is: what a program encodes, splits or
 * shortens is not found, nor what has less than MASK_LEAST bytes. */
#ifndef NODE_MASKS_H
#define NODE_MASKS_H

#include "base/vec.h"

#include <stddef.h>

#define MASK_LEAST 8u
#define MASK_PIECE 1024u /* bytes of a piece of a long line */

struct mask {
    char *at;
    size_t len;
};
struct masks {
    VEC(struct mask) list; /* the longest first */
};

void masks_fini(struct masks *); /* overwrites them */
void masks_add(struct masks *, const void *value, size_t len);
/* Overwrites what the first `upto` bytes have of each of them, which is looked for in all len, with
 * as many '*'. How many bytes behind `upto` belong to one that begins before it. */
size_t masks_cover(const struct masks *, char *bytes, size_t upto, size_t len);
/* Bytes at the end that may be the front of one: what follows decides. Less than MASK_PIECE. */
size_t masks_open(const struct masks *, const char *bytes, size_t len);

#endif
