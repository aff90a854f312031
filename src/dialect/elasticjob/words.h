/* Of which class an end is, and the phase words of jobs and pods. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_WORDS_H
#define DIALECT_ELASTICJOB_WORDS_H

#include "dialect/dialect.h"

/* A row of the exit classes. */
struct ej_exit {
    int code;           /* of the container; the row of EJ_EXIT_OTHER is for all others */
    const char *phrase; /* DLRover's node exit reason */
    enum end_class class, unless_always; /* unless_always: when workers are not always relaunched */
    const char *text;
};
#define EJ_EXIT_OTHER 1000
const struct ej_exit *ej_exits(size_t *n);
struct end_words ej_classify(const struct job_spec *, const struct ending *);
const char *ej_job_word(enum job_state, bool any_task_running);
const char *ej_task_word(enum task_state);

#endif
