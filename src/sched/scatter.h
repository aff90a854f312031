/* Units that go where fewest are: of spread roles, and of tasks that ask for no amount. */
#ifndef SCHED_SCATTER_H
#define SCHED_SCATTER_H

#include "sched/placement.h"

bool scatters(const struct group *);
/* Places units of a group that scatters until it has `upto` of them; false: fewer fit. */
bool scatter_fill(struct placement *, struct group *, uint32_t upto);

#endif
