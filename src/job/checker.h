/* Inside the checks of a job: what they look at and how they say what is wrong. */
#ifndef JOB_CHECKER_H
#define JOB_CHECKER_H

#include "job/job_fields.h"
#include "job/spec.h"

struct checker {
    const struct job_spec *job;
    const struct text_node *root; /* native tree for places, or NULL */
    struct report *report;
};

struct check_path {
    char text[FIELD_PATH_MAX];
};
struct check_path check_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
struct check_path check_role_path(const struct role *,
                                  const char *field); /* "roles.worker.field" */

/* The place of the path in the source: of its deepest part that is there, else of its role. */
struct place check_place(const struct checker *, const char *path);
/* "PATH what" at the path's place. */
void check_fail(const struct checker *, const char *path, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void check_warn(const struct checker *, const char *path, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Every name is a role of the job, and none is there twice. */
void check_role_names(const struct checker *, const struct words *, const char *path);
void check_roles(const struct checker *);
void check_secrets(const struct checker *);

#endif
