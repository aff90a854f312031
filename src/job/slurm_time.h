/* A limit of time as Slurm writes it. */
#ifndef JOB_SLURM_TIME_H
#define JOB_SLURM_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* "M", "M:S", "H:M:S", "D-H[:M[:S]]", rounded up to minutes; "UNLIMITED", "0": UINT64_MAX. false:
 * it is none of them. */
bool slurm_time(const char *text, uint64_t *minutes);

#endif
