/* A command as an account of this machine: how a server of root's calls Slurm for its users. */
#ifndef MAIN_AS_MAIN_H
#define MAIN_AS_MAIN_H

#include "engine/slurm/commands.h" /* SLURM_AS, its name */

/* SLURM_AS "UID GID GROUP ..." HOME COMMAND ARGUMENT ...: gives up all rights of root for good,
 * then is the command, in HOME, or in / where that lets nobody in. It returns only what went wrong,
 * as the status of a program. */
int as_main(int argc, char **argv);

#endif
