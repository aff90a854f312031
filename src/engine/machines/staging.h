/* Directories of code as archives for machines that do not see them: one for each generation of a
 * job, packed by a child, kept as long as runs of the generation may ask for it. */
#ifndef ENGINE_MACHINES_STAGING_H
#define ENGINE_MACHINES_STAGING_H

#include "base/err.h"
#include "engine/machines/packing.h"
#include "job/ids.h"

#include <stdbool.h>

struct staging;
struct staging_sink {
    /* From the loop: the code of that generation is there, or err says why not. */
    void (*done)(void *arg, struct generation, const struct err *);
    void *arg;
};
/* notes: a folder for what markers there are, which later servers are given too. */
struct staging *staging_create(struct machines_packer, const char *notes, struct staging_sink);
void staging_destroy(struct staging *); /* what is packed now is given up */

/* folder: for archives of that generation, where earlier ones are found again. 1: *path is its
 * archive, named by its SHA-256, until staging_drop; 0: done follows; -1: it cannot begin. */
int staging_get(struct staging *, struct generation, const struct machines_pack *,
                const char *folder, const char **path, struct err *err);
/* One of an earlier server; NULL: there is none. As above. */
const char *staging_find(struct staging *, struct generation, const char *folder);
const char *staging_path(const struct staging *, struct generation); /* NULL: not there (yet) */
/* "TEXT PATH" of a file in the directory itself, for machines that see it: there the directory is
 * used. NULL: there is none. */
const char *staging_marker(const struct staging *, struct generation);
void staging_drop(struct staging *, struct generation); /* its archive and its marker go */
/* The markers that an earlier server left for generations that do not live go. */
typedef bool staging_lives_fn(const void *arg, struct generation);
void staging_sweep(struct staging *, staging_lives_fn *, const void *arg);

#endif
