/* The core and accounts (account/accounts.h): commands that change them in a turn, what they may of
 * a job by its id, and who is a program of a job. */
#ifndef CTL_ACCOUNT_H
#define CTL_ACCOUNT_H

#include "account/accounts.h"
#include "account/audit.h"
#include "account/identity.h"
#include "account/vault.h"
#include "ctl/ctl.h"

/* Which the core has; rights, look-ups and the audit record are asked of them directly. */
struct accounts *ctl_accounts(struct ctl *);

struct accounts *core_accounts(struct ctl *); /* makes them; inside ctl/ */
/* secrets_check() of a job that is submitted, as its recording has it; inside ctl/. 0, or -1. */
int core_check_secrets(struct ctl *, const char *owner, const struct job_spec *, struct report *);

/* ---- who is it ---- */
/* identity_holds(), also for programs of jobs: does their generation live? */
bool ctl_identity_lives(struct ctl *, const struct identity *);
/* The account that the job runs as, in the arena; NULL: the server's own. */
const struct account *ctl_account_of_job(struct ctl *, struct arena *, uint64_t job);

/* ---- may they ---- */
bool ctl_may_read(struct ctl *, const struct identity *, uint64_t job);
bool ctl_may_write(struct ctl *, const struct identity *, uint64_t job);
/* ctl_find() among the jobs that they may read; the same error for those they may not. */
int ctl_find_for(struct ctl *, const struct identity *, const char *job, uint64_t *id,
                 struct err *err);

/* ---- commands, answered at the end of the turn like those of ctl.h ---- */
void ctl_user_put(struct ctl *, const struct user_change *, ctl_done *, void *arg); /* made.user */
void ctl_user_remove(struct ctl *, const char *by, const char *name, ctl_done *, void *arg);
void ctl_key_create(struct ctl *, const struct key_request *, ctl_done *, void *arg); /* made.key */
void ctl_key_command(struct ctl *, const struct key_change *, ctl_done *, void *arg);
void ctl_token_create(struct ctl *, const struct token_request *, ctl_done *,
                      void *arg); /* made.token */
void ctl_token_remove(struct ctl *, const char *by, const char *id, ctl_done *, void *arg);
/* made.secret. Tasks that run get a value that is another: in files at once, in variables with
 * their next attempt. */
void ctl_secret_put(struct ctl *, const struct secret_change *, ctl_done *, void *arg);
/* audit_server_start() and audit_server_end(), committed at once. */
void ctl_audit_start(struct ctl *, const char *version, const struct pairs *settings);
void ctl_audit_end(struct ctl *, const char *why);

#endif
