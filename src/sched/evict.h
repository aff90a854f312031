/* Whom to take from, so that one job can start. */
#ifndef SCHED_EVICT_H
#define SCHED_EVICT_H

#include "sched/held_places.h"

/* Those of a lower class go first, whatever the loss. */
enum evict_class {
    EVICT_IDLE,     /* on capacity that nobody was promised */
    EVICT_BORROWED, /* above what its queue is due */
    EVICT_LOWER,    /* of a lower priority */
    EVICT_CLASSES
};

#define EVICT_GPU_CPUS 16u /* a gpu counts as so many cpus */

struct evict_candidate { /* a running job that may be taken from */
    uint64_t job;
    struct held_places held;
    enum evict_class class;
    uint32_t priority;
    uint64_t started_ms;
    uint64_t saved_ms; /* last checkpoint; 0: not known */
};
struct evict_ask {
    const struct cluster *cluster; /* as it is, the candidates on it */
    const struct job_spec *spec;   /* the job that is to start */
    const struct evict_candidate *candidates;
    size_t n;
    uint64_t now_ms;
};
struct evict_choice {
    const struct evict_candidate **victims; /* whole jobs, by id */
    size_t n;
    struct task_place *places; /* the job's when they are gone */
    uint32_t n_places;
    uint64_t loss; /* of all victims */
};

/* What is lost when it ends now: what it holds (milli cpus, see above) times the milliseconds since
 * it was last saved. */
uint64_t evict_loss(const struct evict_candidate *, uint64_t now_ms);

/* The job fits when the victims are gone, and with none of them left out. Of all such sets the one
 * that takes least from the highest class, then from the next; exactly so for few candidates, else
 * about so. The order of the candidates does not count. All in the arena. false: no set helps. */
bool evict_choose(const struct evict_ask *, struct arena *, struct evict_choice *);

#endif
