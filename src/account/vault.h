/* Secrets that users keep for their jobs, by name: of a user, or of a project for the jobs of its
 * members. Values are sealed rows (store/secret.h) and are shown to nobody; jobs of who may use
 * them get them. What is shown is a row of kind "secret" beside each. */
#ifndef ACCOUNT_VAULT_H
#define ACCOUNT_VAULT_H

#include "base/arena.h"
#include "base/err.h"
#include "job/words.h"

#include <stddef.h>
#include <stdint.h>

struct accounts;

#define SECRETS_OF_OWNER 1000u

struct secret_view {
    const char *name;
    const char *owner, *project; /* one of them */
    const char *by;              /* who set it last */
    uint64_t created_ms, changed_ms;
    uint64_t used_ms, used_job; /* number of the job that got it last; 0: none yet */
};
struct secret_list { /* by owner, then by name */
    struct secret_view *at;
    size_t n;
};

/* ---- changing: row, value and audit entry in the open transaction; NULL: refused ---- */
struct secret_change {
    const char *by, *name;
    const char *owner, *project; /* one of them, or neither: by's own */
    const void *value;           /* SECRET_VALUE_MAX bytes at most; NULL: it is removed */
    size_t len;
};
/* A user the own ones, members of a project those of it, readers none, admins all. */
struct secret_view *change_secret(struct accounts *, struct arena *, const struct secret_change *,
                                  struct err *);
void drop_secrets_of(struct accounts *, const char *user);

/* ---- reading ---- */
/* owner or project NULL: of all that `by` may use; else of that one. -1: not theirs to see. */
struct secret_ask {
    const char *by, *owner, *project;
};
int list_secrets(const struct accounts *, struct arena *, const struct secret_ask *,
                 struct secret_list *, struct err *);

/* ---- for jobs ---- */
struct secret_user { /* whose job; a project that the user is no member of counts as none */
    const char *name, *project;
};
struct secret_value {
    const char *owner, *project; /* whose it is, one of them; in the arena */
    const unsigned char *at;     /* in the arena: the caller wipes it (secret_wipe) */
    size_t len;
};
/* The user's own one, else that of the project. 1, 0: there is none; -1: it cannot be read. */
int find_secret(const struct accounts *, struct arena *, const struct secret_user *,
                const char *name, struct secret_value *, struct err *);
void secret_wipe(struct secret_value *);
/* Is there one, and may it be used? Without reading it. */
bool has_secret(const struct accounts *, const struct secret_user *, const char *name);
/* All names that the user's jobs may say, each once, in the arena. */
struct words names_of_secrets(const struct accounts *, struct arena *, const struct secret_user *);
/* That job got it, as `what` says for the audit record. */
struct secret_use {
    const struct secret_user *user;
    const char *name, *what;
    uint64_t job; /* number */
};
void note_secret_use(struct accounts *, const struct secret_use *);

#endif
