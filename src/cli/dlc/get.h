/* dlc get, dlc logs. Internal to this folder. */
#ifndef CLI_DLC_GET_H
#define CLI_DLC_GET_H

#include "cli/dlc/call.h"

int dlc_get_job_run(struct dlc_call *, struct err *err);
int dlc_get_pod_run(struct dlc_call *, struct err *err);
int dlc_get_specs_run(struct dlc_call *, struct err *err);
int dlc_get_quota_run(struct dlc_call *, struct err *err);
int dlc_logs_run(struct dlc_call *, struct err *err);

#endif
