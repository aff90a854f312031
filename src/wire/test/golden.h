/* Messages as the bytes that they have always been: a file of lines "NAME HEX" in
 * tests/golden/wire. What was once written on disks and sent to agents is read for ever. */
#ifndef WIRE_TEST_GOLDEN_H
#define WIRE_TEST_GOLDEN_H

#include "base/buf.h"

struct golden {
    struct buf lines;
};

void golden_init(struct golden *);
/* One message; bytes is emptied for the next. */
void golden_add(struct golden *, const char *name, struct buf *bytes);
/* Fails when the file says anything else. GOLDEN_UPDATE=1 writes it anew. */
void golden_check(struct golden *, const char *file);
/* Each message of a file that an older version wrote. */
void golden_each(const char *file, void (*take)(void *arg, const struct buf *bytes), void *arg);

#endif
