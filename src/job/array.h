/* Arrays: one submission, many jobs. Each has an index of its own, else they are alike. Pure. */
#ifndef JOB_ARRAY_H
#define JOB_ARRAY_H

#include "job/state.h"

#include <stdint.h>

#define JOB_ARRAY_MAX       10000u /* members */
#define JOB_ARRAY_INDEX_MAX 100000000u

struct job_array {
    uint32_t count; /* members; 0: no array */
    uint32_t first, step;
    uint32_t at_once; /* so many run at a time; 0: no limit */
};
/* Index of the member at a position from 0, and back: UINT32_MAX when no member has the index. */
uint32_t job_array_index(const struct job_array *, uint32_t position);
uint32_t job_array_position(const struct job_array *, uint64_t index);
#define JOB_ARRAY_TEXT 200
const char *job_array_range(char out[JOB_ARRAY_TEXT],
                            const struct job_array *); /* "0-99", "1-9:2" */
/* What the states of its members, counted, make of an array: running from the first that began
 * until all have ended, suspended while all that live are; failed when one failed. */
enum job_state job_array_state(const uint32_t counts[JOB_STATE_N]);
const char *job_array_counts(char out[JOB_ARRAY_TEXT],
                             const uint32_t counts[JOB_STATE_N]); /* "3 running, 60 queued" */

#endif
