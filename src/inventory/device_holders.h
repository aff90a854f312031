/* Which tasks of live jobs have a device of a node. */
#ifndef INVENTORY_DEVICE_HOLDERS_H
#define INVENTORY_DEVICE_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

struct live;
struct live_job;

/* Goes through the tasks that have a device: the job of one, and its flat position. Nobody gives or
 * takes places meanwhile. NULL: there is none after that. */
struct holders {
    size_t job; /* 0: begins; among the active ones */
    uint32_t next, flat;
};
struct live_job *holders_next(const struct live *, struct holders *, const char *node,
                              uint32_t device);
/* The same of those whose launch on the device is still to be made. */
struct live_job *holders_next_due(const struct live *, struct holders *, const char *node,
                                  uint32_t device);

#endif
