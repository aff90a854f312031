/* Signals to the tasks of a job, for the native route and for façades: sent to each, gathered, and
 * what came of it kept with the job. */
#ifndef API_SIGNALS_H
#define API_SIGNALS_H

#include "api/call.h"

/* What is kept: {signal, state: completed, failed or ended, tasks, heard: tasks that heard it,
 * processes, failed: [{task, why}], said}. The newest of a job. */
#define SIGNAL_KIND  "job.signal"
#define SIGNALS_KEPT 100

struct signal_order {
    uint64_t job;
    int signal;                   /* job/signals.h */
    struct words tasks;           /* "worker/0", "worker": the role; none: all that run */
    const struct text_node *said; /* a map to keep with it, or NULL; in the arena of the call */
    /* Once, from the loop: the id of what was kept and its map; or err. Nobody is called when the
     * server ends first: the call is freed. */
    void (*done)(void *arg, const struct err *, const char *id, const struct text_node *kept);
    void *arg;
};
/* Keeps the call (call_keep). */
void signals_send(struct call *, const struct signal_order *);

#endif
