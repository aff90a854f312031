/* What the store keeps in hand for a disk that refuses, and what a commit leaves for later. */
#ifndef STORE_DISK_H
#define STORE_DISK_H

#include "base/err.h"

#include <stdbool.h>

struct store;

/* A ballast file beside the database, for commits that lack space. */
void store_release_ballast(struct store *);
bool store_make_ballast(struct store *); /* again, when there is room; true: it is there */

/* A commit that failed may lie in the log whole: its last write went well and its sync did not, or
 * it went well and one behind it did not. A server that begins would read it. So it is cut off at
 * once; while that fails too, nobody may be told that nothing was written. */
bool store_undecided(const struct store *);
/* Cuts it off. 0: no start will read it; -1: still not known. The next turn that writes tries it
 * too, and fails when it fails. */
int store_decide(struct store *, struct err *);

/* The log has grown long. Writing it back into the database takes milliseconds: whoever commits
 * does it when nobody waits. A commit that leaves it twice as long does it itself. */
bool store_behind(const struct store *);
/* Not while a turn is open. */
void store_write_back(struct store *);

#endif
