/* Names of chains and of their files. A chain is a whole copy of the records with the segments that
 * followed it:
 *
 *     00000012/base.tar       a backup
 *     00000012/00000001.tar   what was committed since, segment by segment
 *     00000012/head.json      how far the chain reaches; a chain without it is not complete */
#ifndef SHIP_CHAIN_NAME_H
#define SHIP_CHAIN_NAME_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define CHAIN_HEAD   "head.json"
#define CHAIN_DIGITS 8

/* "00000012/base.tar" for number 0, "00000012/00000005.tar". */
const char *chain_file(struct arena *, uint64_t chain, uint64_t number);
/* Is the last part of the path the name of a chain? */
bool chain_of_path(const char *path, uint64_t *chain);
/* Is it a chain's name? */
bool chain_of_name(const char *name, uint64_t *chain);

struct chains {
    VEC(uint64_t) all; /* ascending; complete or not */
};

#endif
