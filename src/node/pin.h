/* Cores of its own for a task. Each processor is held by a name in the kernel that the whole
 * machine sees (an abstract socket): two tasks never hold the same one, whichever server or user
 * they are of, and a holder that dies holds nothing. */
#ifndef NODE_PIN_H
#define NODE_PIN_H

#include "base/err.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

struct pin {
    cpu_set_t set;
    int *held; /* sockets */
    size_t n;
};

/* Takes n processors that this process may use and nobody holds: of the package with the fewest
 * free ones that has enough, siblings of a core together; of several packages only when none has.
 * 0, or -1 with ERR_CANNOT and nothing taken. */
int pin_take(struct pin *, uint32_t n, struct err *err);
void pin_give(struct pin *); /* none taken: nothing */

#endif
