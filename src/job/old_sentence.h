/* Sentences as records of store versions 1 to 5 have them: with the name of another job in the
 * text. This is the only place that looks for a job in a sentence; nothing new is written so. */
#ifndef JOB_OLD_SENTENCE_H
#define JOB_OLD_SENTENCE_H

#include "job/sentence.h"

/* The sentence as it is made today, in arena. */
struct sentence old_sentence(struct arena *, const char *text);
/* Of a record: what was packed beside its text, NULL where an older version wrote it. */
struct sentence recorded_sentence(struct arena *, const char *text, const char *packed);

#endif
