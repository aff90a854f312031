/* dlc submit, dlc create job. Internal to this folder. */
#ifndef CLI_DLC_SUBMIT_H
#define CLI_DLC_SUBMIT_H

#include "cli/dlc/call.h"

int dlc_submit_run(struct dlc_call *, struct err *err);
int dlc_create_run(struct dlc_call *, struct err *err);

#endif
