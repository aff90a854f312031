/* Would a job start now, were it another one? Each variant is looked at when its turn would come in
 * a pass, with everything that is decided before it, so the answer is that of a pass with this one
 * change. One pass serves all: nothing that is tried is kept. */
#ifndef SCHED_PROBE_H
#define SCHED_PROBE_H

#include "sched/plan.h"

struct probe {
    struct sched_job as; /* who it would be; the spec is made */
    uint32_t n;          /* variants 1 .. n: where one starts, each before it starts too */
    /* NULL: there is none such. In an arena of its own. */
    const struct job_spec *(*make)(void *arg, uint32_t variant);
    void *arg;
    /* the answer */
    uint32_t best; /* the last that starts now; 0: none */
    const struct job_spec *spec;
    struct task_place *places;
    uint32_t n_places;
};
/* The jobs of the snapshot do not have the one that is asked about. tries: how many variants may be
 * placed in all; what is left comes back. */
void sched_probe(const struct sched_snapshot *, uint64_t now_ms, struct arena *, struct probe *,
                 size_t n, uint32_t *tries);

#endif
