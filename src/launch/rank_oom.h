/* Kills for want of memory that the kernel counted, where this process may read the count: its own
 * cgroup's, else the machine's. */
#ifndef LAUNCH_RANK_OOM_H
#define LAUNCH_RANK_OOM_H

#include <stdint.h>

uint64_t rank_oom_kills(void); /* 0 when nothing is counted */

#endif
