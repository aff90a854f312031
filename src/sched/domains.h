/* Which domains of the topology a job goes to: one that holds it all, else as few as can be. */
#ifndef SCHED_DOMAINS_H
#define SCHED_DOMAINS_H

#include "sched/placement.h"

/* Must all tasks share a domain? Then the level in *level: POSITION_NONE when it is not known. */
bool domain_required(const struct placement *, uint32_t *level);
/* Has the topology a say in where these tasks go? */
bool domain_matters(const struct placement *);

/* One way to place all tasks on the nodes in question. Nothing is taken unless it
 * answers GANG_PLACED. */
typedef enum gang_answer way_fn(struct placement *);
/* Tries that in one domain after the other, the tightest level first and on a level the domain that
 * has least to spare, out to the level that is required, or the outermost. The domains are those
 * that hold each group by itself; least: as much of it as the job needs to start. */
enum gang_answer domain_place_one(struct placement *, bool least, way_fn *);
/* Places units of the group until it has `upto`, in as few domains as can be within the one in
 * question; false: fewer fit this way. fill: on the nodes in question. */
typedef bool fill_fn(struct placement *, struct group *, uint32_t upto);
bool domain_place_few(struct placement *, struct group *, uint32_t upto, fill_fn *);

/* The domain of that level in which most units of the group find a place, and how many; DOMAIN_NONE
 * when there is none. */
uint32_t domain_closest(struct placement *, const struct group *, uint32_t level, uint32_t *units);

#endif
