/* Machines that cannot be reached and have something of a job: what the core answers of them. What
 * follows for people is the edge's to say. */
#ifndef CTL_AWAY_VIEW_H
#define CTL_AWAY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
