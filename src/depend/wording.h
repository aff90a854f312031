/* Sentences for people about arrays, dependencies and bundles: made here of what those modules
 * answer, and nowhere else. A job that one names is data in it (job/sentence.h). */
#ifndef DEPEND_WORDING_H
#define DEPEND_WORDING_H

#include "depend/bundle.h"
#include "depend/dependency.h"

/* Names the job in a sentence: "job 12 (prep)", "array 12 (sweep)", "12[3] (sweep)". */
void draft_job(struct draft *, const struct job_row *);

/* What became of an array, as a new draft. */
void draft_array(struct draft *, const struct live_array *, const struct array_event *);
/* For what is done to one job only: -1 with err when the row is an array. */
int array_refuse(const struct job_row *, struct err *);

/* Why a job waits for others, or never can start; of DEPEND_MET nothing. A new draft each. */
void draft_dependency(struct draft *, const struct depend_answer *);
void draft_bundle(struct draft *, const struct bundle_answer *);
void report_dependencies(struct report *, const struct depend_problem *first); /* NULL: nothing */

#endif
