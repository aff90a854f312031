/* What a running rank has imported, seen from outside: its mapped libraries. And which variables of
 * its environment libraries read while they are loaded. */
#ifndef LAUNCH_RANK_MODULES_H
#define LAUNCH_RANK_MODULES_H

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

struct rank_modules {
    unsigned mapped;  /* shared libraries: grows while it imports */
    unsigned modules; /* bits: rows of the list of modules that are safe to import ahead */
};
/* 0; -1: the process is gone, or not ours to look at. */
int rank_modules_look(pid_t, struct rank_modules *);
/* "numpy,torch": in the order they are to be imported; "" for none. */
void rank_modules_names(unsigned modules, const char *separator, struct buf *out);

/* Read at load, so that a process forked from a parent with another value would differ. entry:
 * "NAME=value". */
bool rank_modules_variable(const char *entry);

#endif
