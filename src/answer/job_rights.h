/* What they may of a job by its id, and which job they mean. */
#ifndef ANSWER_JOB_RIGHTS_H
#define ANSWER_JOB_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct account;
struct arena;
struct ctl;
struct err;
struct identity;

bool answer_may_read(struct ctl *, const struct identity *, uint64_t job);
bool answer_may_write(struct ctl *, const struct identity *, uint64_t job);
/* ctl_find() among the jobs that they may read; the same error for those they may not. */
int answer_find_for(struct ctl *, const struct identity *, const char *job, uint64_t *id,
                    struct err *);
/* The account that the job runs as, in the arena; NULL: the server's own. */
const struct account *answer_account_of_job(struct ctl *, struct arena *, uint64_t job);

#endif
