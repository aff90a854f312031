/* When a waiting job starts, as far as can be known: by limits of run time, and by how long jobs
 * like those that run and wait ran before. Data only; words are made at the edge. */
#ifndef EXPLAIN_START_FORECAST_H
#define EXPLAIN_START_FORECAST_H

#include "learn/run_times.h"
#include "sched/forecast.h"

#define START_FORECAST_DRAWS                                                                       \
    5u /* forecasts by learnt run times, at most; each draws others of them */

struct start_forecast_request {
    struct ctl *ctl;
    struct arena *arena;
    const struct sched_snapshot *snapshot;
    uint64_t job;             /* of the snapshot */
    const struct job_row *as; /* owner, name and queue of it, when it is no live job; or NULL */
};
struct start_forecast {
    struct forecast by_limit;   /* also who starts before it when nothing changes */
    bool learnt;                /* the times below are known */
    uint64_t at_ms;             /* median of the forecasts by learnt run times */
    uint64_t early_ms, late_ms; /* the first and the last of them */
    uint32_t asked, known;      /* jobs whose run time was asked for; of so many it was learnt */
    struct run_samples own;     /* run times of jobs like it; n 0: too few are known */
};

void start_forecast_make(const struct start_forecast_request *, struct start_forecast *);

#endif
