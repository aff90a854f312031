/* Policies of the openb experiment: which node, and which GPU of it, a task that fits gets. */
#ifndef BENCH_OPENB_POLICY_H
#define BENCH_OPENB_POLICY_H

#include "openb_data.h"

#define NO_HOST SIZE_MAX

struct place {
    size_t host;  /* NO_HOST: fits nowhere */
    uint32_t gpu; /* of a share */
};
struct experiment { /* as a policy sees it: nothing of what comes later */
    const struct trace *trace;
    struct host *hosts;
    uint64_t seed;
};
struct policy {
    const char *name;
    void *(*create)(const struct experiment *);
    void (*destroy)(void *);
    struct place (*choose)(void *, const struct experiment *, const struct task *);
    /* The task is on its node. */
    void (*placed)(void *, const struct experiment *, size_t host);
    /* Scores computed, as opposed to remembered; and potentials. */
    void (*work)(void *, uint64_t *pairs, uint64_t *states);
};
const struct policy *policy_find(const char *name); /* NULL when there is none */

bool host_fits(const struct host *, const struct task *);
bool gpu_fits(const struct host *, uint32_t gpu, const struct task *);

/* The product's own: what src/sched learns and counts. */
extern const struct policy policy_muster;

#endif
