/* The core with records on disk and nodes that are numbers, for the loads that measure it. */
#ifndef BENCH_SIM_CORE_H
#define BENCH_SIM_CORE_H

#include "ctl/ctl.h"
#include "engine/sim/sim.h"

struct sim_core {
    struct arena *arena;
    struct store *store;
    struct engine *engine;
    struct ctl *ctl;
    uint64_t now_ms; /* of its clock; 0: the machine's */
    size_t asked, answered, failed;
};

/* n nodes of 96 cores, 768 GiB and 8 devices. They live in the core's own arena. false, and it was
 * printed why: nothing is open. */
bool sim_core_open(struct sim_core *, const char *dir, size_t n, const struct sim_watch *,
                   uint64_t now_ms);
void sim_core_close(struct sim_core *);
/* The answer comes at the end of the turn. from: a dialect; NULL: it is found out. */
void sim_core_submit(struct sim_core *, const char *owner, const char *from, const char *text);
void sim_core_command(struct sim_core *, const char *owner, uint64_t job, enum ctl_verb);
void sim_core_declare(struct sim_core *, const char *text);

double sim_core_cpu(void); /* seconds of processor time so far */

#endif
