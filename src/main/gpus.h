/* The devices that a server offers when it starts: what its driver says, and what the server before
 * this one knew, in a file of the state directory. Not in the records: it is of the machine, and a
 * copy of the records may come to another one. */
#ifndef MAIN_GPUS_H
#define MAIN_GPUS_H

#include "base/arena.h"
#include "job/gpu.h"
#include "job/node_spec.h"
#include "store/store.h"

/* Adds them to the machine, as far as CUDA_VISIBLE_DEVICES of this process lets them be used; what
 * is wrong goes to the log. While jobs of the records hold devices, and while the driver does not
 * answer, each has the slot that it had. */
void gpus_find(struct arena *, struct store *, const char *known, struct node_spec *machine);
/* For the server after this one; before the core is told of slots. */
void gpus_remember(const char *known, const struct gpu_report *);

#endif
