/* A process of a few pages that outlives the launcher by a moment: when the launcher dies, by
 * whatever signal, it kills what the ranks left (the ranks themselves die by their parent-death
 * signal). Knows what belongs to the launcher by MUSTER_LAUNCH_COOKIE in the environment. */
#ifndef LAUNCH_GUARD_H
#define LAUNCH_GUARD_H

#include "launch/stray_process.h"

#include <stddef.h>
#include <sys/types.h>

/* Forks the guard; -1 when the machine has no process left. The launcher keeps *hold open. */
pid_t guard_start(const char *cookie, int *hold);
/* SIGKILL to every process of this user with the cookie, except this one and `except`; repeated
 * until none is left or 2 s passed. Returns how many were found at first. */
size_t guard_sweep(const char *cookie, pid_t except);

#endif
