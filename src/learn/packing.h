/* What tasks of this server ask for, learnt from the jobs it is given: the scheduler's mix, kept in
 * rows so that a restarted server places as before. */
#ifndef LEARN_PACKING_H
#define LEARN_PACKING_H

#include "job/job.h"

struct cluster;
struct packing;
struct store;

/* Of a cluster whose nodes are known; it places by that from now on, and both outlive it. The rows
 * are read. */
struct packing *packing_create(struct store *, struct cluster *);
void packing_destroy(struct packing *); /* NULL-safe */
/* A job was submitted; in the turn that records it. */
void packing_learn(struct packing *, const struct job_spec *);
/* Before the commit: writes what was learnt since the last one. */
void packing_record(struct packing *);
void packing_undone(struct packing *); /* the commit failed */

#endif
