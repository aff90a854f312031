/* Jobs that run in an allocation of their own: their engine asks its cluster for nodes that no
 * other job may use. Which jobs want one is a note of theirs; what becomes of it is said by facts.
 */
#ifndef CTL_ALLOCATIONS_H
#define CTL_ALLOCATIONS_H

#include "live/live.h"

struct ctl;
struct engine_fact;
struct map;

/* A plan found no place for a job that waits. true: it asks for an allocation from now on, and
 * stands aside until that has nodes. */
bool allocations_ask(struct ctl *, struct live_job *, const struct wait_reason *);
/* It was held back: whether it needs an allocation is found anew. */
void allocations_forget(struct ctl *, struct live_job *);
/* Its spec was read: it says what the notes say. */
void allocations_apply(struct live_job *);
/* Jobs whose allocations have a node that is up, by id; the caller destroys it. */
struct map *allocations_ready(const struct ctl *);
/* It waits for the first node of its allocation. ready: NULL, it is looked up. */
bool allocations_pending(const struct ctl *, const struct live_job *, const struct map *ready);
/* Says so, unless Slurm's own words are known. */
void allocations_say(struct live_job *);
void allocations_hear(struct ctl *, const struct engine_fact *);
/* After a commit: whoever makes allocations is told that there may be something to do. */
void allocations_acted(struct ctl *);

struct allocation_request {
    uint64_t job, number;
    const char *owner, *queue;
    const struct job_spec *spec; /* the core's own, until the next turn */
    bool begun;                  /* it has tasks in an allocation */
    bool lacks;                  /* it has nodes, and they are too few for it: */
    const char *reason;          /* what the last plan said then; NULL: nothing */
    bool ran;                    /* its tasks have had a place before */
};
struct allocation_requests {
    struct allocation_request *at; /* in arena, by id */
    size_t n;
};
/* All that are to have one now: one that has, and is not here, gives it back. */
struct allocation_requests ctl_allocations(struct ctl *, struct arena *);

#endif
