/* Why a job waits, or why it can never run, in one line for people. The planner decides by no text
 * and makes none: whoever shows a reason has it put into words here. */
#ifndef SCHED_WAIT_WORDS_H
#define SCHED_WAIT_WORDS_H

#include "base/buf.h"
#include "sched/snapshot.h"

/* Adds the line: nothing for SAYS_NOTHING. Jobs that it is about (blocker) are not named. */
void wait_words(struct buf *, const struct wait_reason *);
/* The same in arena; NULL: nothing is said. */
const char *wait_text(struct arena *, const struct wait_reason *);

#endif
