/* When a waiting job starts if nothing changes: pass after pass is made on a copy of the cluster,
 * what ends in between is taken away, until the job's turn has come. Nothing changes: no job comes,
 * none is stopped, no node comes or goes, and each job runs as long as it is counted with. */
#ifndef SCHED_FORECAST_H
#define SCHED_FORECAST_H

#include "sched/plan.h"

/* What users had of their queues as time goes on. at NULL: it stays as the snapshot says. */
struct forecast_usage {
    uint64_t (*at)(void *arg, uint32_t user, uint64_t at_ms);
    /* From at_ms on the user holds so much more, or less. */
    void (*hold)(void *arg, uint32_t user, const struct vector *, bool more, uint64_t at_ms);
    void *arg;
};
struct forecast_run { /* whose run time is asked for */
    uint64_t job;
    const struct job_spec *spec;
    uint64_t ran_ms;   /* it has run so long already; 0: it waits */
    uint64_t limit_ms; /* its limit of run time, or what is taken for it */
};
struct forecast_ask {
    const struct sched_snapshot *snapshot;
    uint64_t job, now_ms;
    /* How long it runs in all. NULL: up to its limit. */
    uint64_t (*lasts)(void *arg, const struct forecast_run *);
    void *arg;
    struct forecast_usage usage;
    uint64_t work; /* that may be spent: forecast_work() is what one pass costs */
};
struct forecast {
    bool found;
    bool rough;            /* something on the way is a guess: the end of a job without a limit,
                              others being ended, growth of elastic jobs, strategies that look at
                              the clock */
    uint64_t at_ms;        /* found: it starts then; else nothing is known beyond this time */
    const uint64_t *ahead; /* jobs that start before it, in that order */
    size_t n_ahead;
    const uint64_t *ended; /* jobs that end when it starts */
    size_t n_ended;
    uint64_t spent;
};

/* Looks at nodes, jobs and lines of a pass: about a tenth of a microsecond each. */
uint64_t forecast_work(const struct sched_snapshot *);
/* false: the snapshot has no such waiting job. All in the arena. */
bool sched_forecast(const struct forecast_ask *, struct arena *, struct forecast *);

#endif
