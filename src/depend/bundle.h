/* Jobs that first start together: who belongs together, and whether all are there. */
#ifndef DEPEND_BUNDLE_H
#define DEPEND_BUNDLE_H

#include "job/job.h"
#include "store/store.h"

bool bundle_has_peers(const struct job_spec *);
/* The gangs of this job and those of others that it starts with, sorted, as one text in arena;
 * NULL: it starts by itself. */
const char *bundle_key(struct arena *, const struct job_spec *);

/* The jobs among which the others are. */
struct bundle_jobs {
    void *arg;
    /* The next one that lives, in any order; cursor 0: the first. NULL: that were all. */
    const struct job_row *(*next)(void *arg, size_t *cursor);
    /* Those alone that stand aside, the same way. */
    const struct job_row *(*next_aside)(void *arg, size_t *cursor);
    /* Of the one that was given last. NULL: it cannot be read. */
    const struct job_spec *(*spec)(void *arg);
};
enum bundle_kind {
    BUNDLE_WHOLE,     /* all gangs are there */
    BUNDLE_NO_JOB,    /* no job has the gang */
    BUNDLE_SUSPENDED, /* the job that has it is */
    BUNDLE_DIFFERS,   /* the job that has it starts together with others than this one */
};
struct bundle_answer {
    enum bundle_kind kind;
    uint32_t waiting;   /* WHOLE: jobs with this key that wait, itself included; 0: none aside */
    const char *gang;   /* else: the one it is about */
    struct job_row row; /* SUSPENDED DIFFERS: that job's; texts are its own */
};
/* Are all there with whom a job of this key starts? */
struct bundle_answer bundle_look(const struct bundle_jobs *, const struct job_spec *,
                                 const char *key);

#endif
