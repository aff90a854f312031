/* Who of a job's tasks died first (notes.first of the job). */
#ifndef LIVE_DEATHS_H
#define LIVE_DEATHS_H

#include "live/live.h"

struct death {
    uint32_t flat;
    const struct ending *ending; /* its tail says whether it speaks of another */
    enum end_class class;
    uint64_t wakeup;  /* as in a fact */
    const char *text; /* "worker/2 on n2 exited with 1" */
};
/* One that does not come again in this generation, or may not, heard now; what is known already is
 * corrected. true: this has changed who is first. */
bool death_add(struct live_job *, uint64_t now_ms, const struct death *);
/* Until when whoever the first of them speaks of may tell by itself that it has gone; 0: it need
 * not be waited for. */
uint64_t deaths_wait(const struct live_job *);
void death_forget(struct live_job *, uint32_t flat); /* it comes again */
/* The launchers of the job have found out which rank it was. */
void deaths_name_root(struct live_job *, uint32_t flat, const char *clause);
void deaths_begin(struct live_job *); /* a generation begins */
void deaths_load(struct live_job *);  /* notes and tasks were read */

#endif
