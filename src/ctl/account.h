/* The core and accounts (account/accounts.h): commands that change them in a turn, and whether who
 * asks may still. */
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
