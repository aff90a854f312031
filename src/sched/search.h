/* The slow, certain answer for small jobs: every way to put the units on nodes, up to a number of
 * steps. */
#ifndef SCHED_SEARCH_H
#define SCHED_SEARCH_H

#include "sched/placement.h"

enum search_answer {
    SEARCH_FOUND,  /* all asked for units are placed */
    SEARCH_NONE,   /* there is no way; nothing is taken */
    SEARCH_GAVE_UP /* too large to be certain; nothing is taken */
};
/* least: only the units without which the job does not start. */
enum search_answer search_places(struct placement *, bool least);

#endif
