/* What the head of a chain says: a small file that is replaced after each segment, so that it may
 * lag behind the chain by one and never leads it. A segment that is missing shows by it. */
#ifndef SHIP_CHAIN_H
#define SHIP_CHAIN_H

#include "ship/backup_tar.h"
#include "ship/target.h"

struct chain_head {
    uint64_t chain, number;       /* number: of the last segment; 0: only the base */
    const char *sha256;           /* of the manifest of the last file */
    const struct text_node *tree; /* all that it says: records, made_ms, archives */
};
/* ERR_NOT_FOUND: the chain is not complete, or not there; ERR_INPUT: the head is damaged. */
int chain_read_head(struct target *, struct arena *, uint64_t chain, struct chain_head *,
                    struct err *);
/* The newest that is complete. ERR_NOT_FOUND: there is none. */
int chain_newest(struct target *, struct arena *, struct chain_head *, struct err *);
/* Removes all before that one but the newest `keep` complete ones. */
int chain_thin(struct target *, struct arena *, uint64_t chain, uint64_t keep, struct err *);

#endif
