/* Sentences about jobs and their tasks: made of reasons, for rows and events, and nowhere else in
 * this folder. What is said of other jobs, depend/wording.h says. */
#ifndef LIVE_WORDING_H
#define LIVE_WORDING_H

#include "job/ending.h"
#include "job/sentence.h"
#include "live/reason.h"

/* A new draft. */
void draft_reason(struct draft *, const struct reason *);

/* What is said of an ending besides its numbers: the remark of others (NULL or "": none) as it is,
 * else what its cause says by itself. "": nothing. */
const char *words_beside(const struct ending *, const char *remark);
#define WORDS_MAX 320
/* "exited with 1", "killed (SIGKILL by the kernel, out of memory)", "lost: agent gone", "could not
 * start: ...": with that. */
const char *words_end(char out[WORDS_MAX], const struct ending *, const char *remark);

#endif
