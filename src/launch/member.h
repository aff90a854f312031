/* The life of one launcher: find the leader, join, check, run ranks, stop, join again, end. Decides
 * nothing about rounds (the leader does) and nothing about processes (ranks do). */
#ifndef LAUNCH_MEMBER_H
#define LAUNCH_MEMBER_H

#include "launch/settings.h"

#include <uv.h>

/* Runs until the end of the job or a signal; returns the exit code. cookie: what the ranks carry in
 * GUARD_COOKIE (guard.h). */
int member_run(uv_loop_t *, const struct settings *, const char *cookie);

#endif
