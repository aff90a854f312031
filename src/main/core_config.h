/* Settings as the core takes them. */
#ifndef MAIN_CORE_CONFIG_H
#define MAIN_CORE_CONFIG_H

#include "ctl/ctl.h"
#include "main/config.h"

/* Fills all that settings say, nodes apart; texts are in arena. 0 or -1. */
int core_config(struct arena *, const struct config *, struct ctl_config *, struct err *err);

#endif
