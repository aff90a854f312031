/* Tasks of any job, live or ended, as views, and where their output is. */
#ifndef ANSWER_TASKS_H
#define ANSWER_TASKS_H

#include "ctl/contents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct task_list;
struct task_view;

/* The job's canonical form: the live one, or decoded into arena. NULL: cannot be read. */
const struct job_spec *tasks_spec(const struct contents *, struct arena *, const struct job_row *);
/* Tasks of a role of a job, to be read together. */
struct task_source {
    const struct job_row *job;
    const struct job_spec *spec;
};
struct task_span {
    uint32_t role, first, n;
};
/* Those tasks, with their attempts, into out; returns how many these are. */
size_t tasks_read(const struct contents *, struct arena *, const struct task_source *,
                  const struct task_span *, struct task_view *out);
/* All of them, roles in order. */
struct task_list tasks_all(const struct contents *, struct arena *, const struct job_row *);

/* Logs of a task: attempts in order with the directory of each. */
struct attempt_log {
    uint64_t job; /* of an array: its member */
    uint32_t role, index, attempt;
    uint32_t member; /* index of that member */
    const char *role_name;
    const char *dir;
    uint64_t end;
    bool final;
};
int answer_logs(struct ctl *, struct arena *, uint64_t job, struct attempt_log **, size_t *n,
                struct err *);
/* How many jobs follow this one as its members: their ids are the next ones. 0: no array. */
uint32_t answer_members(struct ctl *, uint64_t job, uint32_t *tasks /* in all; NULL: not asked */);

#endif
