/* What comes to a simulated cluster and when: jobs with the time that they will run, and nodes that
 * are lost. Read from several formats, told apart by their content (doc/simulate.md). */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "base/report.h"
#include "dialect/dialect.h"
#include "sim/arrival.h"
#include "sim/world.h"

#define WORKLOAD_JOBS_MAX 20000000u

struct workload {
    const char *format; /* "openb", "sacct", "swf", "jobs" */
    struct pattern *patterns;
    struct arrival *arrivals; /* by time, those of one time in the order of the text */
    struct outage *outages;
    size_t n_patterns, n_arrivals, n_outages;
    uint64_t fail_ppm;   /* of a million attempts so many fail, at a moment drawn from the seed */
    uint64_t left_out;   /* rows of jobs that never ran */
    struct words queues; /* that jobs name */
    struct declarations says;
};

/* workload->says is added to: it has what the cluster's file declared. All of it lives in the
 * report's arena. 0; or -1 with every problem (up to a bound) in report, and nothing else to be
 * used. Warnings say what was left out. */
int workload_read(const struct dialects *, const char *text, size_t len, struct workload *,
                  struct report *);

#endif
