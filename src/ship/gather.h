/* The records of a chain, put together again. */
#ifndef SHIP_GATHER_H
#define SHIP_GATHER_H

#include "base/arena.h"
#include "base/err.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct gather_ask {
    const char *from; /* a target, of which the newest whole chain is taken; or one chain in it */
    const char *endpoint, *region; /* of a store; NULL: as the environment has it */
    const char *dir; /* where BACKUP_RECORDS and BACKUP_ARCHIVES come; has a directory for these */
    const uint64_t *segments; /* no more than so many; NULL: all */
};
/* May this be a chain, or a target? A backup is a file. */
bool gather_is_chain(const char *from);
/* Every file is read, its hashes and its place in the chain are compared, before anything counts.
 * What the manifests say: of the last one, with `chain`, `segments`, `bytes` and `archives` of all.
 * NULL: a file is missing, altered, cut off or not the one that was written there; err says which,
 * and how to have what is before it. */
const struct text_node *gather_chain(struct arena *, const struct gather_ask *, struct err *);

#endif
