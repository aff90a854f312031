/* ~/.dlc/config and the flags that stand for it. Internal to this folder. */
#ifndef CLI_DLC_CONFIG_H
#define CLI_DLC_CONFIG_H

#include "cli/dlc/call.h"

/* Reads the file (--config FILE, else ~/.dlc/config when it is there), lays the global flags over
 * it, and points the call at the server they mean. */
int dlc_config_read(struct dlc_call *, struct err *err);
int dlc_config_run(struct dlc_call *, struct err *err);
bool dlc_config_flag(const char *name); /* is it one of the global ones? */

#endif
