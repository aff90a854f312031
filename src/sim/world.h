/* What a server's settings say besides its nodes, for a simulation: queues, topology, prices and
 * what the scheduler assumes, under the same words. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "job/catalogue.h"
#include "sim/settings.h"
#include "text/tree.h"

/* As they are declared, by the cluster's file or the workload's. */
struct declarations {
    const struct text_node *queues; /* a list of names and maps; NULL: none */
    struct words topology;
    struct amounts prices;
    uint64_t run_ms, half_life_ms; /* 0: not said */
};
/* Is it a setting that declarations_read() reads? */
bool declarations_key(const char *key);
#define DECLARATIONS_KEYS "queues topology prices default_run half_life"
/* Those of root's keys, added to what is there; all else is left alone. Texts go to the report's
 * arena. Problems: a kind that cannot be, a setting that was there before. */
void declarations_read(struct declarations *, const struct text_node *root, struct report *);

struct world { /* for the core */
    struct words queues, topology;
    struct entry *declared;
    size_t n_declared;
    struct amounts prices;
    uint64_t run_ms, half_life_ms; /* 0: the core's own */
};
/* named: queues that jobs name; they are known when none is declared. -1: a setting is about a
 * queue that is not there, or it cannot have that value. */
int world_make(struct arena *, const struct declarations *, const struct words *named,
               const struct sim_settings *, struct world *, struct err *);
bool world_has_queue(const struct world *, const char *name);

#endif
