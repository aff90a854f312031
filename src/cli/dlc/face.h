/* The command line of PAI-DLC, `dlc`: its verbs, flags and outputs over the server's own API. A
 * thin face: what a job is and what it may ask is the dialect's business. doc/dlc-command.md is the
 * user's page. */
#ifndef CLI_DLC_FACE_H
#define CLI_DLC_FACE_H

#include "cli/host.h"

/* argv begins at the verb. Returns the exit status. */
int dlc_face_main(const struct cli_host *, int argc, char **argv);

#endif
