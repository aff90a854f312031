/* The elastic launcher: `muster launch`, and the same program under the names torchrun and
 * dlrover-run. Starts the ranks of one node and takes part in the rendezvous of its job. */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include "flags/flags.h"

/* argv[0] is the name it was called by (for messages). Returns the exit code: torchrun's (0, 1
 * for any failure, 2 for usage). */
int launch_main(enum launch_name, int argc, char **argv);

#endif
