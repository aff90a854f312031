/* What comes to a simulated cluster: jobs that are alike, the arrival of one, the loss of a node.
 */
#ifndef SIM_ARRIVAL_H
#define SIM_ARRIVAL_H

#include "base/report.h"

#include <stddef.h>
#include <stdint.h>

struct pattern { /* a job's text, of which there may be many */
    const char *text;
    size_t len;
    const char *from;            /* its dialect */
    const struct job_spec *spec; /* as it was read for checking */
    uint64_t jobs;
    struct place place; /* of the first that has it */
};
struct arrival {
    uint64_t at_ms, run_ms;
    uint32_t pattern;
    int code;          /* the exit code of its tasks */
    const char *owner; /* kept once for all */
};
struct outage {
    uint64_t at_ms, back_ms; /* back_ms 0: it stays away */
    const char *node;
    struct place place;
};

#endif
