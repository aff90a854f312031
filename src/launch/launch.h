/* The elastic launcher: `muster launch`, and the same program under the names torchrun and
 * dlrover-run. Starts the ranks of one node and takes part in the rendezvous of its job. */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

enum launch_name { LAUNCH_MUSTER, LAUNCH_TORCHRUN, LAUNCH_DLROVER_RUN };

/* argv[0] is the name it was called by (for messages). Returns the exit code: torchrun's (0, 1
 * for any failure, 2 for usage). */
int launch_main(enum launch_name, int argc, char **argv);

#endif
