/* What --policy sets: how the engine behaves, what the scheduler assumes, and fields of queues. */
#ifndef SIM_SETTINGS_H
#define SIM_SETTINGS_H

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>

/* Times; 0: not set. */
#define SIM_POLICIES(X)                                                                            \
    X(START, "start", "from a job's allocation to its tasks running; 0s")                          \
    X(STOP, "stop", "a task lives on after it was asked to end, at most the job's grace; 0s")      \
    X(DEFAULT_RUN, "default_run", "assumed run time of jobs without a limit; 24h")                 \
    X(HALF_LIFE, "half_life", "what a user had of a queue counts half after that; 7d, never")
#define POLICY_ENUM(id, name, doc) POLICY_##id,
enum sim_policy { SIM_POLICIES(POLICY_ENUM) POLICY_N };
#undef POLICY_ENUM
const char *sim_policy_name(enum sim_policy);

struct queue_change {  /* a field of a declared queue, as if the file had it */
    const char *queue; /* NULL: of every queue */
    const char *field, *value;
};
#define QUEUE_CHANGES_MAX 64u

struct sim_settings {
    uint64_t seed;
    uint64_t policy[POLICY_N]; /* milliseconds */
    struct queue_change changes[QUEUE_CHANGES_MAX];
    size_t n_changes;
};
/* "start=5s", "strategy=fifo", "vision.maximum={gpu: 8}" into settings; several apart by commas.
 * Texts go to arena. -1: no such name, or the value is none of its kind. Whether a queue can have
 * the value, world_make() says. */
int sim_settings_add(struct arena *, struct sim_settings *, const char *text, struct err *);

#endif
