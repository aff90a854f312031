/* How long an agent of a live job has not been heard, and whether that is longer than the job waits
 * for those that it can do without. Pure: the time is handed in. */
#ifndef LIVE_SILENCE_BOUND_H
#define LIVE_SILENCE_BOUND_H

#include "live/live.h"

#define SILENCE_TEXT_MAX 96

/* Its job waits so long, from .silent_ms on; 0: without an end. The spec must be there. */
uint64_t silence_bound(const struct live_job *, const struct live_agent *);
bool silence_past_bound(const struct live_job *, const struct live_agent *,
                        uint64_t now_ms); /* NULL: no */
/* It is heard again; its tasks are left out of nothing from now on. */
void silence_end(struct live_job *, const char *node);
/* "its machine has been silent for 3 s" */
const char *silence_text(char out[SILENCE_TEXT_MAX], const struct live_agent *, uint64_t now_ms);

#endif
