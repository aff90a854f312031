/* A server that has an allocation of Slurm to itself (`muster server start --in-job`), for sites
 * that end processes of login nodes. It is this user's server from then on: what starts one asks
 * Slurm for an allocation. The directory in-job/ beside elsewhere.json has what the next one goes
 * on from (cli/in_job.sh). */
#ifndef CLI_IN_JOB_H
#define CLI_IN_JOB_H

#include "base/pairs.h"
#include "cli/cmd.h"
#include "cli/in_job_script.h"

/* This user's server is such a one; in arena its directory. NULL: it is not. */
const char *in_job_dir(const struct cli *);
/* With these settings (by key), which are kept; ask NULL: an allocation as before. Returns when it
 * answers, however long Slurm lets it wait. */
int in_job_start(struct cli *, const struct in_job_ask *ask, const struct pairs *given,
                 struct err *err);
/* Where it does not answer an allocation is asked for, and waited for, for a while. */
int in_job_ensure(struct cli *, struct err *err);
/* It does not answer, and its allocation waits or runs: Slurm is told to end that. 1: so; 0: there
 * is none. id: of that allocation, in arena. */
int in_job_cancel(struct cli *, const char **id, struct err *err);
/* Why it does not answer, for the err of a call. */
void in_job_explain(struct cli *, struct err *err);

#endif
