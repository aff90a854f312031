/* Cores of its own for a task. Each processor is held by a lock on a file that root owns, or, under
 * servers that are not root, their user: two tasks of these servers never hold the same one, nobody
 * else can take one first, and a holder that dies holds nothing. */
#ifndef NODE_PIN_H
#define NODE_PIN_H

#include "base/err.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

struct pin {
    cpu_set_t set;
    int *held; /* descriptors that are locked */
    size_t n;
};

/* Takes n processors that this process may use and nobody holds: of the package with the fewest
 * free ones that has enough, siblings of a core together; of several packages only when none has.
 * 0, or -1 with ERR_CANNOT and nothing taken. */
int pin_take(struct pin *, uint32_t n, struct err *err);
void pin_give(struct pin *); /* none taken: nothing */

#endif
