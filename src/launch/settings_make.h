/* Makes the settings of a launcher from its command line and its environment. */
#ifndef LAUNCH_SETTINGS_MAKE_H
#define LAUNCH_SETTINGS_MAKE_H

#include "base/arena.h"
#include "base/err.h"
#include "launch/settings.h"

/* 0; 1: help was printed; -1: err (exit code 2, or 1 where torchrun has it: err->code tells).
 * Warnings for flags that are accepted without effect go to stderr, once each. */
int settings_make(struct settings *, struct arena *, enum launch_name, int argc, char **argv,
                  struct err *);

#endif
