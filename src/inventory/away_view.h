/* Machines that cannot be reached and have something of a job: what is answered of them. What
 * follows for people is the edge's to say. */
#ifndef INVENTORY_AWAY_VIEW_H
#define INVENTORY_AWAY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct live_job;
struct nodes;

struct away_view {
    const char *node, *why; /* why: as of nodes; NULL: not known */
    const char *tried;      /* to make sure that it is dead, in vain; NULL: nothing */
    uint64_t since_ms;      /* wall clock */
    uint64_t tasks;         /* of the job, whose attempts live as far as is known */
    bool left;              /* the others go on without them; else the job waits for it */
};
struct away_list {
    struct away_view *at;
    size_t n;
};
/* Those that have an agent of the job, in arena. */
struct away_list nodes_away_of(const struct nodes *, struct arena *, const struct live_job *);

#endif
