/* What one user may hold of a queue at a time, and what all may. A job counts with all tasks it may
 * ever have. */
#ifndef CTL_SHARE_H
#define CTL_SHARE_H

#include "ctl/ctl.h"
#include "ctl/live.h"

/* A job that alone is more than that can never start in its queue: refused in report. 0, or -1. */
int share_check(const struct ctl *, const struct job_spec *, struct report *);

/* What users hold, or would when the jobs looked at so far in a pass start; made as it is asked
 * for. */
struct share {
    const char *owner, *queue;
    uint64_t cpu_milli, gpu_milli;
};
struct shares {
    struct arena *arena;
    struct share *at;
    size_t n, cap;
};
/* May the waiting job start beside them? Then it is counted. Else false, and text says why. */
bool share_ask(struct ctl *, struct shares *, struct live_job *, char *text, size_t size);

#endif
