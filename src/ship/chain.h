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
struct chain_keep {
    uint64_t before;   /* a chain: neither it nor a newer one goes */
    uint64_t keep;     /* so many of the newest complete ones before it stay */
    uint64_t until_ms; /* clock_mono_ms(); 0: as long as it takes */
};
/* Removes the others. 1: the time came before the end. */
int chain_thin(struct target *, struct arena *, const struct chain_keep *, struct err *);

#endif
