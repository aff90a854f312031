/* Simulations from files to files. */
#ifndef MAIN_SIMULATE_MAIN_H
#define MAIN_SIMULATE_MAIN_H

#include "cli/host.h"

/* Problems of the files go to stderr, each with its place; then -1 with their number in err. */
int simulate_main(const struct cli_simulation *, struct err *err);
int simulate_compare(const char *a, const char *b, struct err *err);

#endif
