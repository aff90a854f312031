/* An engine whose nodes are numbers: attempts start, end and are stopped on a clock that its owner
 * moves. No process, no file, no loop. */
#ifndef ENGINE_SIM_SIM_H
#define ENGINE_SIM_SIM_H

#include "engine/engine.h"

/* What an attempt would do, asked for when it starts. */
struct sim_run {
    uint64_t start_ms; /* from the call to FACT_STARTED */
    uint64_t run_ms;   /* from then to its end */
    uint64_t stop_ms;  /* how long it lives on after SIGTERM; no longer than the job's grace */
    int code;          /* exit code */
    void *held;        /* the owner's, handed back when the attempt is over */
};

/* May be called within a call of the engine, and do not call it. Each may be NULL. */
struct sim_watch {
    /* The program of a launched attempt. NULL: it starts and ends at once with 0. */
    struct sim_run (*run)(void *arg, const struct launch *, const struct launch_task *);
    /* An attempt is over: how (ENDED, AGENT_GONE), and when it had started (0: never). */
    void (*over)(void *arg, const struct engine_fact *, const struct sim_run *,
                 uint64_t started_ms);
    void *arg;
};

struct engine *sim_create(const struct sim_watch *, uint64_t now_ms);
/* When the next fact is due; UINT64_MAX: nothing is under way. */
uint64_t sim_next(const struct engine *);
/* Moves the clock (never back) and tells the sink every fact that is due by then, in the order of
 * their times, those of one time in the order in which they were arranged. */
void sim_advance(struct engine *, uint64_t now_ms);
/* A node is lost at the time of the clock with all that it runs, or comes back; due at once. */
void sim_node(struct engine *, const char *node, bool up);
/* Attempts that have not ended. */
size_t sim_alive(const struct engine *);

#endif
