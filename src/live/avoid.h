/* Nodes that a job avoids, because its tasks failed there too often. */
#ifndef LIVE_AVOID_H
#define LIVE_AVOID_H

#include "live/live.h"

struct cluster;

/* The nodes in its notes become part of what its places may not be. */
void avoid_apply(struct live_job *);
bool avoid_node(const struct live_job *, const char *node);
enum avoidance {
    AVOID_NOTHING,
    AVOID_NODE,   /* once too often: from now on the job goes elsewhere, and its notes say so */
    AVOID_NO_MORE /* it has been elsewhere often enough: that is its end */
};
/* A task failed where it is. */
enum avoidance avoid_count(const struct cluster *, struct live_job *, uint32_t flat);

#endif
