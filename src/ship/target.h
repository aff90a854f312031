/* Where a continuous backup goes: a directory, or a bucket of an S3 store. A chain is a whole copy
 * of the records with the segments that followed it:
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
#include "ship/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAIN_HEAD   "head.json"
#define CHAIN_DIGITS 8
#define TARGET_STORE "s3://" /* how the name of a target in a store begins */

struct target_place {
    const char *where;             /* a directory, or s3://BUCKET/PREFIX */
    const char *endpoint, *region; /* of the store; NULL, "": as the environment has it */
};
struct target;
/* Is the place one that can be opened, by its form? Nothing is looked at. ERR_INPUT. */
int target_check(const struct target_place *, struct err *);
bool target_is_store(const char *where);
/* A directory has to be there (ERR_UNAVAILABLE). Of a store only the credentials are looked for:
 * the first call to it says whether it is there. */
struct target *target_open(const struct target_place *, struct err *);
void target_close(struct target *); /* NULL-safe */
/* The file's name with its place, for people; in arena. */
const char *target_name(const struct target *, struct arena *, const char *name);

/* "00000012/base.tar" for number 0, "00000012/00000005.tar". */
const char *chain_file(struct arena *, uint64_t chain, uint64_t number);
/* Is the last part of the path the name of a chain? */
bool chain_of_path(const char *path, uint64_t *chain);
/* Is it a chain's name? */
bool chain_of_name(const char *name, uint64_t *chain);

struct chains {
    VEC(uint64_t) all; /* ascending; complete or not */
};
int target_list(struct target *, struct chains *, struct err *);
/* Room for a chain's files; fails where there is such a chain, also one that another child begins.
 */
int target_begin(struct target *, uint64_t chain, struct err *);
/* All files of it; 1: the time until (clock_mono_ms(); 0: none) came before the end. */
int target_remove(struct target *, uint64_t chain, uint64_t until_ms, struct err *);

struct target_file; /* one that is written, or read */
struct target_file *target_create(struct target *, const char *name, struct err *);
int target_put(struct target_file *, const void *data, size_t n, struct err *);
/* Gives it its name, and takes it. */
int target_publish(struct target_file *, struct err *);
void target_abandon(struct target_file *); /* NULL-safe */
struct byte_sink target_sink(struct target_file *);

/* From its beginning. ERR_NOT_FOUND. */
struct target_file *target_get(struct target *, const char *name, struct err *);
struct byte_source target_source(struct target_file *);
void target_end(struct target_file *); /* of target_get; NULL-safe */

/* A small text, at once; ERR_NOT_FOUND. text: malloc'ed. */
int target_write(struct target *, const char *name, const char *text, size_t len, struct err *);
int target_read(struct target *, const char *name, char **text, size_t *len, struct err *);

#endif
