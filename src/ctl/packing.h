/* What tasks of this server ask for, learnt from the jobs it is given: the scheduler's mix, kept in
 * rows so that a restarted server places as before. */
#ifndef CTL_PACKING_H
#define CTL_PACKING_H

#include "job/job.h"

struct ctl;
struct packing;

/* Of a core whose nodes are known; its cluster places by it from now on. */
struct packing *packing_create(struct ctl *);
void packing_destroy(struct packing *); /* NULL-safe */
/* A job was submitted; in the turn that records it. */
void packing_learn(struct ctl *, const struct job_spec *);
/* Before the commit: writes what was learnt since the last one. */
void packing_record(struct ctl *);
void packing_undone(struct ctl *); /* the commit failed */

#endif
