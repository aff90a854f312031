/* Nodes that a job avoids, because its tasks failed there too often. */
#ifndef CTL_AVOID_H
#define CTL_AVOID_H

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct live_job;

/* The nodes in its notes become part of what its places may not be. */
void avoid_apply(struct live_job *);
bool avoid_node(const struct live_job *, const char *node);
/* A task failed where it is: once too often, and the job goes elsewhere; or ends, when it has been
 * elsewhere often enough. */
void avoid_count(struct ctl *, struct live_job *, uint32_t flat);

#endif
