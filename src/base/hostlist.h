/* Lists of host names as Slurm writes them: "n[1-3,7]", "rack1-[08-11],login". */
#ifndef BASE_HOSTLIST_H
#define BASE_HOSTLIST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define HOSTLIST_MAX 65536u /* names of one list */

/* The names in their order; runs of numbers behind the same letters become a bracket. Zeros in
 * front of a number are kept. */
void hostlist_write(struct buf *out, const char *const *names, size_t n);

/* The names of text, in arena. -1: brackets that do not close, a range that runs backwards, more
 * than HOSTLIST_MAX names. */
int hostlist_read(struct arena *, const char *text, const char ***names, size_t *n, struct err *);

#endif
