/* Job numbers, ids and what people type for them. */
#ifndef JOB_IDS_H
#define JOB_IDS_H

#include <stdbool.h>
#include <stdint.h>

/* 43 bits of milliseconds since 1970, 20 bits of counter: max(last + 1, now << 20). Sorts by time.
 * 0 is no job. */
uint64_t job_id_next(uint64_t last, uint64_t now_ms);
#define JOB_ID_TEXT 14 /* 13 base-36 characters (0-9a-z, fixed width) and NUL */
const char *job_id_format(char out[JOB_ID_TEXT], uint64_t id);
bool job_id_parse(const char *text, uint64_t *id); /* with or without the prefix "dlc" */

/* One generation (whole-job start) of one job. */
struct generation {
    uint64_t job;
    uint32_t number; /* from 1 */
};
/* One task of a job: position in roles[], index within the role from 0. */
struct task_ref {
    uint16_t role;
    uint32_t index;
};

#endif
