/* Where a continuous backup goes: a directory, or a bucket of an S3 store, with chains of files
 * (ship/chain_name.h). A file has its name when it is whole and on the disk there. */
#ifndef SHIP_TARGET_H
#define SHIP_TARGET_H

#include "base/arena.h"
#include "base/err.h"
#include "ship/chain_name.h"
#include "ship/stream.h"
#include "ship/target_place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
