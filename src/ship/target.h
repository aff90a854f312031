/* Where a continuous backup goes. A chain is a whole copy of the records with the segments that
 * followed it:
 *
 *     00000012/base.tar       a backup
 *     00000012/00000001.tar   what was committed since, segment by segment
 *     00000012/head.json      how far the chain reaches; a chain without it is not complete
 *
 * A file has its name when it is whole and on the disk there. */
#ifndef SHIP_TARGET_H
#define SHIP_TARGET_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAIN_HEAD   "head.json"
#define CHAIN_DIGITS 8

struct target;
/* where: a directory, which has to be there (ERR_UNAVAILABLE). */
struct target *target_open(const char *where, struct err *);
void target_close(struct target *); /* NULL-safe */

/* "00000012/base.tar" for number 0, "00000012/00000005.tar". */
const char *chain_file(struct arena *, uint64_t chain, uint64_t number);
/* Is the last part of the path the name of a chain? */
bool chain_of_path(const char *path, uint64_t *chain);

struct chains {
    VEC(uint64_t) all; /* ascending; complete or not */
};
int target_list(struct target *, struct chains *, struct err *);
/* Room for a chain's files; fails where there is such a chain, also one that another child begins.
 */
int target_begin(struct target *, uint64_t chain, struct err *);
/* A file to be written; target_publish gives it its name and takes the descriptor. */
int target_create(struct target *, const char *name, struct err *);
int target_publish(struct target *, const char *name, int fd, struct err *);
/* Gives up what target_create made. */
void target_abandon(struct target *, const char *name, int fd);
/* A small text, at once; ERR_NOT_FOUND. text: malloc'ed. */
int target_write(struct target *, const char *name, const char *text, size_t len, struct err *);
int target_read(struct target *, const char *name, char **text, size_t *len, struct err *);
/* A path of this machine where the file can be read; in arena. ERR_NOT_FOUND. */
const char *target_fetch(struct target *, struct arena *, const char *name, struct err *);
int target_remove(struct target *, uint64_t chain, struct err *);

#endif
