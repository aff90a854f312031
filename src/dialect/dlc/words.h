/* How DLC says states, and of which class an end is. Internal to this folder. */
#ifndef DIALECT_DLC_WORDS_H
#define DIALECT_DLC_WORDS_H

#include "dialect/dialect.h"

struct end_words dlc_classify(const struct job_spec *, const struct ending *);
const char *dlc_job_word(enum job_state, bool any_task_running);
const char *dlc_held_word(enum job_outcome);
const char *dlc_task_word(enum task_state);

#endif
