/* Following a job until it ends. Internal to this folder. */
#ifndef CLI_DLC_FOLLOW_H
#define CLI_DLC_FOLLOW_H

#include "cli/cmd.h"

/* Prints "Job JOB is [Running]" at every change of state until the job has ended (quiet: nothing);
 * its last view. */
struct text_node *dlc_follow(struct cli *, const char *job, bool quiet, struct err *err);

#endif
