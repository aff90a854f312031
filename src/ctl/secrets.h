/* Secrets in the life of a job: are those that it names there, what its tasks get, and what follows
 * when one is set anew. Values are read from the sealed rows for each launch and kept nowhere else.
 */
#ifndef CTL_SECRETS_H
#define CTL_SECRETS_H

#include "account/vault.h"
#include "ctl/ctl.h"
#include "job/launch.h"

struct live_job;

/* ---- commands and questions of the edges ---- */
/* made.secret. Tasks that run get a value that is another: in files at once, in variables with
 * their next attempt. */
void ctl_secret_put(struct ctl *, const struct secret_change *, ctl_done *, void *arg);

/* ---- inside ctl/ ---- */
/* Of a job that is submitted: those that are not there for its owner are refused in report, with
 * names that are near. 0, or -1. */
int resolve_secrets(struct ctl *, const char *owner, const struct job_spec *, struct report *);
/* What only tasks of this generation know: they tell each other by it, and the server. */
void secrets_put_own(const struct ctl *, const struct live_job *, struct arena *,
                     struct pairs *env);
/* What the tasks of the launch get, and the values: in arena, until secrets_wipe(). That they got
 * them is written with the next commit. ERR_INPUT: one is not there any more, or cannot be what it
 * is to be. */
int secrets_add(struct ctl *, struct live_job *, struct arena *, struct launch *, struct err *);
void secrets_wipe(struct launch *);
/* An agent has joined: what was set anew meanwhile it does not have. */
void secrets_tell(struct ctl *, struct live_job *, const char *node);
/* The turn's part (participants.h). */
void secrets_record(struct ctl *);
void secrets_committed(struct ctl *);
void secrets_undone(struct ctl *);

#endif
