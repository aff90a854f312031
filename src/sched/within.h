/* Which domains of the topology a job goes to: one that holds it all, else as few as can be. */
#ifndef SCHED_WITHIN_H
#define SCHED_WITHIN_H

#include "sched/gang.h"

/* Must all tasks share a domain? Then the level in *level: SHELF_NONE when it is not known. */
bool within_required(const struct crew *, uint32_t *level);
/* Has the topology a say in where these tasks go? */
bool within_matters(const struct crew *);

/* One way to place all of the crew on the nodes in question. Nothing is taken unless it answers
 * GANG_PLACED. */
typedef enum gang_answer way_fn(struct crew *);
/* Tries that in one domain after the other, the tightest level first and on a level the domain that
 * has least to spare, out to the level that is required, or the outermost. The domains are those
 * that hold each group by itself; least: as much of it as the job needs to start. */
enum gang_answer within_one(struct crew *, bool least, way_fn *);
/* Places units of the group until it has `upto`, in as few domains as can be within the one in
 * question; false: fewer fit this way. fill: on the nodes in question. */
typedef bool fill_fn(struct crew *, struct group *, uint32_t upto);
bool within_few(struct crew *, struct group *, uint32_t upto, fill_fn *);

/* The domain of that level in which most units of the group find a place, and how many; DOMAIN_NONE
 * when there is none. */
uint32_t within_closest(struct crew *, const struct group *, uint32_t level, uint32_t *units);

#endif
