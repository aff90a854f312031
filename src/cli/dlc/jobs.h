/* dlc stop job, dlc delete job. Internal to this folder. */
#ifndef CLI_DLC_JOBS_H
#define CLI_DLC_JOBS_H

#include "cli/dlc/call.h"

int dlc_stop_run(struct dlc_call *, struct err *err);
int dlc_delete_run(struct dlc_call *, struct err *err);

#endif
