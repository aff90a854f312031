/* The batch script of a server that has an allocation of Slurm to itself: what Slurm is asked for,
 * where things are, and the text of in_job.sh. Slurm keeps it in clear: it has no secrets. */
#ifndef CLI_IN_JOB_SCRIPT_H
#define CLI_IN_JOB_SCRIPT_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define IN_JOB_SCRIPT_MAX (256u << 10)
#define IN_JOB_NAME       "muster-server" /* as Slurm knows it */

struct in_job_ask {
    const char *partition;    /* NULL: Slurm's default one */
    uint64_t time_ms;         /* 0: as long as that gives */
    const char *const *flags; /* more for sbatch, behind ours */
    size_t n_flags;
};
struct in_job_places {
    const char *home;    /* the server's directory in the home that machines share */
    const char *program; /* muster, by a path that nodes see */
};
/* Seconds before its end that Slurm tells an allocation of so many minutes; 0 minutes: not known.
 */
unsigned in_job_warning(uint64_t minutes);
/* ERR_INPUT: a flag that no line of a script can have, among others. What of this process's
 * environment says where things are goes with it. */
int in_job_script(const struct in_job_ask *, const struct in_job_places *, struct buf *out,
                  struct err *err);

#endif
