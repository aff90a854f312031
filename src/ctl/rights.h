/* May they? The one place of rights, asked by everything in ctl/ that is somebody's (identity.c).
 * Private to ctl/. */
#ifndef CTL_RIGHTS_H
#define CTL_RIGHTS_H

#include "ctl/identity.h"

enum user_role core_role(const struct ctl *, const char *name);
bool core_admin(const struct ctl *, const char *owner); /* root, the server's own user, admins */
/* May their jobs run as the server's own user? */
bool core_own_account(const struct ctl *, const char *owner);
/* Its owner (unless a reader), or an admin. */
bool core_may(const struct ctl *, const char *owner, const struct job_row *);
/* Its owner, members of its project, an admin; NULL: nobody asks but the server itself. */
bool core_reads(const struct ctl *, const char *owner, const struct job_row *);
/* May they change it? -1: ERR_DENIED, or ERR_NOT_FOUND when they may not even read it. */
int core_check(const struct ctl *, const char *owner, const struct job_row *, struct err *);
/* May they put something into that project (NULL or "default": everybody's)? */
bool core_member(const struct ctl *, const char *owner, const char *project);
/* An event of no job: what was changed about the server itself. events.c */
void event_server(struct ctl *, const char *type, const char *text);

#endif
