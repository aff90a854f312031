/* Room on the disk for an image before it is fetched, so that a pull that cannot end does not begin
 * and take the room of others. */
#ifndef NODE_FETCH_SPACE_H
#define NODE_FETCH_SPACE_H

#include "base/err.h"
#include "image/reference.h"

#include <stdint.h>

/* With the lock of that image, whose half is there: bytes are its from now on until its half is
 * gone or space_free. Pulls under way keep what they have not yet written; images that nobody uses
 * go, the longest unused first, if it fits then. ERR_FULL says what it wants and what there is, or
 * would be without them. */
int space_reserve(const char *dir, const char *digest, uint64_t bytes, struct err *err);
void space_free(const char *dir, const char *digest);

#endif
