/* Roles of a job under the names that another format has for them. */
#ifndef DIALECT_ROLES_H
#define DIALECT_ROLES_H

#include "dialect/dialect.h"

/* What a role becomes: one that is split stands here twice, roles that are joined have one `to`. A
 * role that is not among them keeps its name. */
struct role_name {
    const char *from, *to;
};
struct role_names {
    const struct role_name *at;
    size_t n;
};

/* A copy of the job with these roles (an array that the copy takes), in which everything that
 * refers to roles by name (start order, gangs, places) refers to the new names. In arena. */
struct job_spec *dialect_with_roles(struct arena *, const struct job_spec *, struct role *roles,
                                    size_t n, const struct role_names *);

/* The job with its role `from` split: its first task is a role of its own, `first`, in front of the
 * rest. Nothing is left of `from` when it had one task. In arena. */
struct job_spec *dialect_split_role(struct arena *, const struct job_spec *, const char *from,
                                    const char *first);

/* Are the tasks of both the same but for name, number, ports and start order? */
bool dialect_same_tasks(const struct role *, const struct role *);

#endif
