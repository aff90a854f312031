/* The one entry of the command line. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/host.h"

/* argv begins at the verb. Returns the exit status. */
int cli_main(const struct cli_host *, int argc, char **argv);

#endif
