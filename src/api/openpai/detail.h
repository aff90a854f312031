/* One job in full. Private to api/openpai/. */
#ifndef API_OPENPAI_DETAIL_H
#define API_OPENPAI_DETAIL_H

#include "answer/jobs.h"
#include "api/openpai/request.h"

/* About one start of a job: all but its taskRoles. */
struct pai_start {
    const struct job_view *job;
    const struct task_view *culprit; /* that failed it, or NULL */
    uint64_t n;
};
struct text_node *pai_detail(struct pai *, const struct pai_start *);

void pai_job_detail(struct pai *);
void pai_job_attempt(struct pai *);
void pai_job_attempts_health(struct pai *);
void pai_job_attempts(struct pai *);
void pai_job_attempts_one(struct pai *);
void pai_job_events(struct pai *);

#endif
