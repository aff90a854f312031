/* A cluster and what comes to it, run through the real core, scheduler and records on a clock of
 * its own: as fast as the machine goes, and the same every time. */
#ifndef SIM_SIMULATION_H
#define SIM_SIMULATION_H

#include "ctl/ctl.h"
#include "sim/explain_check.h"
#include "sim/promises.h"
#include "sim/score.h"
#include "sim/settings.h"
#include "sim/workload.h"
#include "sim/world.h"

struct sim_refusal { /* a job that the core did not take */
    uint64_t jobs;
    const char *what;
};
struct simulation_config {
    const struct dialects *dialects;
    const struct node_spec *nodes;
    size_t n_nodes;
    const struct workload *workload;
    struct sim_settings settings;
    struct world world; /* world_make() of the settings */
    /* Of every so manieth job that has to wait, and of all that wait when the last one came, it is
     * asked what explain says; 0: of none. */
    uint64_t explain_every;
    /* Now and then while it runs: inputs so far and all jobs that came of those that will. NULL:
     * not wanted. */
    void (*progress)(void *arg, uint64_t inputs, size_t came);
    void *progress_arg;
};

struct simulation;
/* The configuration and what it points to must outlive it. */
struct simulation *simulation_create(const struct simulation_config *, struct err *err);
void simulation_destroy(struct simulation *); /* NULL-safe */
/* To the end: nothing comes any more, nothing runs, and nothing that waits will ever start. */
void simulation_run(struct simulation *);
struct score *simulation_score(struct simulation *);
/* What is odd about its queues, as `muster queues` says it: a list of texts in arena, or NULL. */
struct words simulation_warnings(struct simulation *, struct arena *);
/* What was promised, and what came of it. */
const struct promises *simulation_promises(const struct simulation *);
/* What explain said, and what came of it; NULL: nobody asked. */
struct explain_check *simulation_explained(const struct simulation *);
/* What the core was told: submissions, starts and ends of attempts, nodes lost and back. */
uint64_t simulation_inputs(const struct simulation *);
/* Jobs that were not taken, by the reason of the first; NULL: all were. */
const struct sim_refusal *simulation_refusal(const struct simulation *);

#endif
