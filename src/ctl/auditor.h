/* The core's side of the audit record. Private to ctl/. */
#ifndef CTL_AUDITOR_H
#define CTL_AUDITOR_H

#include "ctl/audit.h"

struct auditor;
struct auditor *auditor_create(void);
void auditor_destroy(struct auditor *); /* NULL-safe */
void audit_expire(struct ctl *);        /* removes what is too old */

/* `who` did that, or was refused (code not ERR_NONE). */
void audit(struct ctl *, const char *who, const char *action, const char *object,
           const struct err *outcome);
/* The server did, by itself. */
void audit_server(struct ctl *, const char *action, const char *object);
/* The same to a job, when it is not its owner's doing. */
void audit_job(struct ctl *, const char *who, const char *action, const struct job_row *,
               const struct err *outcome);

#endif
