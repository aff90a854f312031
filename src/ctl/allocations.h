/* Jobs that run in an allocation of their own: their engine asks its cluster for nodes that no
 * other job may use. Which jobs want one is a note of theirs; what becomes of it is said by facts.
 */
#ifndef CTL_ALLOCATIONS_H
#define CTL_ALLOCATIONS_H

#include "live/live.h"

struct arena;
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
/* What is there of the allocations of jobs, by their ids; the caller destroys it, and what it holds
 * is in arena. */
struct map *allocations_there(const struct ctl *, struct arena *);
/* It waits for the nodes of its allocation: for the first, then for the rest, which may take some
 * seconds longer. */
bool allocations_pending(struct ctl *, struct live_job *, const struct map *there);
/* Says so, unless Slurm's own words are known. */
void allocations_say(struct live_job *);
void allocations_hear(struct ctl *, const struct engine_fact *);
/* After a commit: whoever makes allocations is told that there may be something to do. */
void allocations_acted(struct ctl *);

#endif
