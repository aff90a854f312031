/* Tasks and their attempts: a job's start is its attempt n, from 0. Private to api/openpai/. */
#ifndef API_OPENPAI_ATTEMPTS_H
#define API_OPENPAI_ATTEMPTS_H

#include "answer/jobs.h"
#include "api/openpai/request.h"

uint64_t pai_attempt_of(const struct job_view *); /* the current one */
/* Attempts of a task in that start: how many, and the last or the k-th from 0; NULL: none. */
size_t pai_attempts(const struct task_view *, uint64_t n);
const struct attempt_view *pai_attempt(const struct task_view *, uint64_t n, uint64_t k);
const struct attempt_view *pai_last_attempt(const struct task_view *, uint64_t n);
const struct task_view *pai_task(const struct job_view *, const char *role, uint64_t index);
/* "ID-role-0-1" */
const char *pai_container(struct pai *, const struct task_view *, const struct attempt_view *);
bool pai_exit_code(unsigned version, const struct attempt_view *, int64_t *code);
const char *pai_end_class(const struct attempt_view *); /* a word; NULL: it has not ended */
void pai_put_attempt_times(struct arena *, struct text_node *out, const struct attempt_view *);
const char *pai_log_path(struct pai *, const struct task_view *, uint64_t n, uint64_t k);
/* Did its last attempt of that start fail before that time? Then this is the time now. */
bool pai_failed_before(const struct task_view *, uint64_t n, uint64_t *first_ms);
/* One of taskRoles: its list of tasks, empty; and a task of the n-th start for it. */
struct text_node *pai_put_role(struct arena *, struct text_node *roles, const char *name);
void pai_put_task(struct pai *, struct text_node *list, const struct job_view *,
                  const struct task_view *, uint64_t n);
/* taskRoles of an answer about the n-th start. */
void pai_put_roles(struct pai *, struct text_node *out, const struct job_view *, uint64_t n);
bool pai_number_of(const char *text, uint64_t *n); /* up to nine digits */
/* The task and the start that a path names; false: answered. */
struct pai_place {
    const struct job_view *job;
    const struct task_view *task;
    uint64_t n;
};
bool pai_find_task(struct pai *, struct pai_place *);

void pai_task_attempts(struct pai *);

#endif
