/* How much of a large job one turn of the loop does. A job has up to 65,536 tasks, and nobody waits
 * for all of them in one turn: what is left goes on with the next tick. Work is counted in tasks,
 * so that a replay cuts it at the same places. */
#ifndef CTL_SLICES_H
#define CTL_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#define SLICE_TASKS   512u
#define SLICE_HOSTS   4u  /* times as many: tasks whose hosts are named */
#define SLICE_DELETED 4u  /* times as many: rows of deleted jobs */
#define SLICE_READ    64u /* times as many: tasks of a job that is submitted */

struct ctl;
struct live_job;

/* A new turn: all of its slices, and the jobs that wait for one are touched; or none of either,
 * when a plan waits, and the next tick comes at once. */
void slices_begin(struct ctl *);
/* Tasks of one slice. */
uint32_t slices_size(const struct ctl *);
/* Takes n tasks, or what is left of it, out of a slice. */
void slices_spend(uint32_t *slice, uint32_t n);
/* Has most of a slice of rows been written since the last tick? Then no plan is made before the
 * next one, which is for plans alone: both together are too much for one turn. */
bool slices_put_off_plan(struct ctl *);
/* The job goes on with the next tick, which comes at once. */
void slices_later(struct ctl *, struct live_job *);

/* removal.c: the next slice of what deleted jobs left in the records. */
void removal_go_on(struct ctl *);

#endif
