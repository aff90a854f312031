/* Sentences for people about arrays, dependencies and bundles: made here of what those modules
 * answer, and nowhere else in this folder. A job that is named is one the reader may not know
 * (job/sentence.h). */
#ifndef DEPEND_WORDING_H
#define DEPEND_WORDING_H

#include "depend/array.h"

/* Names the job in a sentence: "job 12 (prep)", "array 12 (sweep)", "12[3] (sweep)". */
void draft_job(struct draft *, const struct job_row *);

/* Of an array, each a new draft: a member that failed, and how its members stand, with the first
 * failure when it has failed. */
void draft_failure(struct draft *, const struct job_row *member);
void draft_counts(struct draft *, const struct live_array *);
/* Why what is done to one job only is refused for an array. Returns -1. */
int refuse_array(const struct job_row *array, struct err *err);

#endif
