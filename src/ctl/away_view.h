/* Machines that cannot be reached and have something of a job: what the core answers of them. What
 * follows for people is the edge's to say. */
#ifndef CTL_AWAY_VIEW_H
#define CTL_AWAY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct ctl;
struct live_job;

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
struct away_list nodes_away_of(const struct ctl *, struct arena *, const struct live_job *);

struct node_outage {   /* a node that cannot be reached */
    uint64_t since_ms; /* wall clock */
    const char *why;
    const char *note; /* what was tried since; "": nothing. Not in the records */
};
/* NULL: it can be. Until the next fact of it. */
const struct node_outage *nodes_away(const struct ctl *, const char *node);
bool nodes_any_away(const struct ctl *);
/* "WHY; NOTE", in arena. */
const char *nodes_why(struct arena *, const struct node_outage *);

#endif
