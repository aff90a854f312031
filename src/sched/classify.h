/* The classes of a cluster's nodes, kept by the cluster and brought up to date when they are asked
 * for. */
#ifndef SCHED_CLASSIFY_H
#define SCHED_CLASSIFY_H

#include "sched/node_class.h"

struct cluster;
/* All classes of the cluster as it is now. They are kept by the cluster and brought up to date
 * here, so this is needed after every change and before every look; valid until the next change. */
struct node_classes *node_classes_of(const struct cluster *);
/* To copy, not to look at: up to date when that costs no copy. */
const struct node_classes *node_classes_to_copy(const struct cluster *);
uint64_t node_classes_stamp(const struct cluster *); /* for a group that will ask */

#endif
