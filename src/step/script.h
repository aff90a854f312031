/* The batch script of a job: its process, its files. */
#ifndef STEP_SCRIPT_H
#define STEP_SCRIPT_H

#include "step/node_conf.h"

#include <sys/types.h>
#include <uv.h>

struct script;
/* Starts it; what cannot be opened of its files is said on stderr, and left out. NULL: it cannot be
 * started. */
struct script *script_start(uv_loop_t *, const struct node_conf *, struct err *);
void script_signal(const struct script *, int number); /* its shell alone */
/* Ended: what it wrote has been copied. *code: as of a shell. */
bool script_reap(struct script *, pid_t, int status, int *code);
void script_destroy(struct script *); /* NULL-safe */

#endif
