/* A long text that grows: in pieces, so that none of it is moved while it does, and what was read
 * can be freed before the rest. */
#ifndef BASE_PIECES_H
#define BASE_PIECES_H

#include "base/buf.h"

#define PIECE_BYTES ((size_t)1 << 20) /* a piece that has as many is followed by another one */

struct pieces;
struct pieces *pieces_create(void);
void pieces_destroy(struct pieces *); /* NULL-safe */
/* Where text is added; the same until the next call. */
struct buf *pieces_end(struct pieces *);
size_t pieces_len(const struct pieces *); /* of all that was added */
/* Takes up to max bytes from the front, which is freed piece by piece. Returns how many; 0: there
 * are none. */
size_t pieces_take(struct pieces *, char *out, size_t max);

#endif
