/* Where servers of one machine keep the locks on what none of them may give twice: files of root's
 * for the whole machine, else of this user's servers; and files that all users of it share. */
#ifndef NODE_LOCKS_H
#define NODE_LOCKS_H

#include <stdbool.h>

/* The directory of that kind of lock ("cores"), made when it is not there; only its user writes to
 * it. A descriptor, or -1. */
int locks_open(const char *kind);

/* A lock file of that name for all users of this machine, who may all open and lock it, and write
 * nothing into it. A descriptor to read and write; -1: there is no place for such files here
 * (*denied false), there is no such file and `make` is false (the same), or something else has that
 * name, or somebody keeps others out: then nobody can say that the thing is free (*denied true). */
int locks_open_common(const char *name, bool make, bool *denied);

#endif
