/* Jobs that the records lost, by what is left of them: entries of indexes whose row lies on a page
 * that cannot be read, and rows of jobs that are not there. */
#ifndef STORE_LOSSES_H
#define STORE_LOSSES_H

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

#define LOSSES_MOST 10000u /* are listed; the others are counted */

struct missing_job {          /* as far as it is known: */
    uint64_t id, number;      /* 0: not */
    const char *name, *owner; /* NULL: not */
};
struct missing_jobs {
    struct missing_job *at; /* by number; those without one behind the others */
    size_t n;
    uint64_t more; /* than are listed */
};

struct sqlite3;
/* Before rows without their job are left out. to: the new database, which has all rows that could
 * be read; it keeps the list for this connection. damaged: of which it was made; NULL: nothing. */
void losses_look(struct sqlite3 *to, struct sqlite3 *damaged);
/* What losses_look found, and numbers above `there` up to `last`. */
void losses_list(struct sqlite3 *to, struct arena *, uint64_t there, uint64_t last,
                 struct missing_jobs *out);

#endif
