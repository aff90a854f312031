/* Waiting for other jobs: names become numbers when a job is submitted; from then on it stands
 * aside until the one it waits for has ended. Only that end looks at it again. */
#ifndef DEPEND_DEPENDENCY_H
#define DEPEND_DEPENDENCY_H

#include "ctl/core.h"

struct afters *afters_create(void);
void afters_destroy(struct afters *);

/* Numbers for names, and what can never come true: unknown jobs (also those that the owner may not
 * read), ends that exclude each other, members matched with jobs that have none of their index. */
int after_resolve(struct ctl *, const char *owner, struct job_spec *, struct report *);
/* A queued job with notes.has_after: looked at when the turn is settled. */
void after_ask(struct ctl *, struct live_job *);
void after_ended(struct ctl *, uint64_t id); /* a job or an array */
/* Who waits no longer joins the queue, who never can run ends. false: nothing was asked. */
bool after_settle(struct ctl *);

/* Does a queued job still wait for others, and for which? -1: it never can run, and why. */
int after_blocked(struct ctl *, struct live_job *, struct draft *why);

#endif
