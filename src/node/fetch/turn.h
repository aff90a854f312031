/* Whose turn it is in a store: what tasks wait for comes before what is fetched for jobs that wait
 * in the queue. All by locks, so that a process that dies has no turn.
 *
 * DIR/locks/tasks         shared: a pull that tasks wait for is under way
 * DIR/locks/DIGEST.wanted shared: tasks wait for that image, whoever fetches it
 * DIR/locks/room          exclusive: such a pull finds no room on the disk */
#ifndef NODE_FETCH_TURN_H
#define NODE_FETCH_TURN_H

#include "base/err.h"

#include <stdbool.h>

/* Of a pull that tasks wait for; until the descriptor is closed. -1: nothing is held, and it goes
 * on without. want: before it waits for whoever makes the image; take: when it makes it itself. */
int turn_want(const char *dir, const char *digest);
int turn_take(const char *dir);
/* There is no room: early pulls that are under way are told to end. true: some did, and what they
 * had is free. Waits some seconds at most. */
bool turn_clear(const char *dir);

/* Of an early pull, that has the lock of the image: how it says so, before its first byte is on the
 * disk. */
int turn_mark_early(const char *dir, const char *digest, struct err *);
/* Between pieces of it. Waits while tasks wait for other images. *taken: turn_take's descriptor
 * from when on tasks wait for this one, -1 before; it waits for nobody then. ERR_UNAVAILABLE: its
 * room is needed. */
int turn_wait(const char *dir, const char *digest, int *taken, struct err *);

#endif
