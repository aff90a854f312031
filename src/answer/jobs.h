/* Jobs as answers, one or a list, for who may read them. 0, or -1 with err. */
#ifndef ANSWER_JOBS_H
#define ANSWER_JOBS_H

#include "answer/views.h"

struct arena;
struct ctl;
struct err;
struct job_filter;
struct job_result;

/* The lists of tasks and events can be long: pages.h reads them in pages. */
enum job_parts { JOB_TASKS = 1, JOB_SPEC = 2, JOB_ORIGIN = 4, JOB_TIMELINE = 8 };
struct job_ask {
    uint64_t job;
    const char *owner; /* who asks; NULL: nobody that may change it */
    unsigned parts;
};
int answer_job_view(struct ctl *, struct arena *, const struct job_ask *, struct job_view *,
                    struct err *);
int answer_list_view(struct ctl *, struct arena *, const struct job_filter *, struct job_list *,
                     struct err *);
int answer_list_count(struct ctl *, const struct job_filter *, uint64_t *n, struct err *);
/* What a command tells of its job. */
struct job_view job_view_of(const struct job_result *);

#endif
