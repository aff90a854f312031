/* May they? The one place of rights, asked by everything that is somebody's (rights.c). `name` is a
 * user's, of whom there need be no row. */
#ifndef ACCOUNT_RIGHTS_H
#define ACCOUNT_RIGHTS_H

#include "account/identity.h"

struct accounts;
struct job_row;

/* Root, the server's own user, admins. */
bool user_is_admin(const struct accounts *, const char *name);
/* The job's owner (unless a reader), or an admin. */
bool user_may_change(const struct accounts *, const char *name, const struct job_row *);
/* The job's owner, members of its project, an admin; NULL: nobody asks but the server itself. */
bool user_may_read(const struct accounts *, const char *name, const struct job_row *);
/* May they change it? -1: ERR_DENIED, or ERR_NOT_FOUND when they may not even read it. */
int check_may_change(const struct accounts *, const char *name, const struct job_row *,
                     struct err *);
/* May they put something into that project (NULL or "default": everybody's)? */
bool user_may_use_project(const struct accounts *, const char *name, const char *project);

/* ---- the same for who asks: a program of a job may less than its owner ---- */
bool identity_may_read(const struct accounts *, const struct identity *, const struct job_row *);
/* store_find_in() among the jobs that they may read, whoever's is said; 0: there is none. */
struct job_name_query;
uint64_t find_job_in(const struct accounts *, const struct identity *,
                     const struct job_name_query *);
/* Restricts a list to what they may read (struct job_filter: reader, projects). */
struct job_filter;
void filter_readable(const struct accounts *, struct arena *, const struct identity *,
                     struct job_filter *);

#endif
