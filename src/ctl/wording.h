/* Sentences about jobs and their tasks: made of reasons, for rows and events, and nowhere else in
 * this folder. What is said of other jobs, depend/wording.h says. */
#ifndef CTL_WORDING_H
#define CTL_WORDING_H

#include "ctl/reason.h"
#include "job/ending.h"
#include "job/sentence.h"

/* A new draft. */
void draft_reason(struct draft *, const struct reason *);

#define WORDS_MAX 320
/* "exited with 1", "killed (SIGKILL by the kernel, out of memory)", "lost: agent gone", "could not
 * start: ...". */
const char *words_end(char out[WORDS_MAX], const struct ending *);

#endif
