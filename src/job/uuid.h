/* Names of things as UUIDs (RFC 9562, version 8), for systems that call everything by one. Stable:
 * the same thing has the same UUID after every restart. */
#ifndef JOB_UUID_H
#define JOB_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define UUID_TEXT 37

/* Of a job, and back; false: not that of a job. */
const char *uuid_of_job(char out[UUID_TEXT], uint64_t id);
bool uuid_job(const char *text, uint64_t *id);
/* Of anything else: equal kind, owner (an id; 0: none) and name give equal UUIDs. */
const char *uuid_of(char out[UUID_TEXT], const char *kind, uint64_t owner, const char *name);

#endif
