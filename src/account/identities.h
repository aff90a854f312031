/* Users, keys and tokens in memory, and their rows. Private to account/: identify.c asks who it is,
 * identity_commands.c changes them. */
#ifndef ACCOUNT_IDENTITIES_H
#define ACCOUNT_IDENTITIES_H

#include "account/handle.h"
#include "account/identity.h"

struct user {
    struct arena *arena;                 /* of the record; first in each of them */
    const char *name, *email, *password; /* password: crypto_pwhash_str, NULL none */
    const char *account;                 /* of the operating system, NULL: none is named */
    enum user_role role;
    struct words projects;
    uint64_t created_ms;
    uint64_t ended_ms; /* what was let in by then is not any more: password changed, or disabled */
    bool disabled;
    const struct text_node *extension;
};
struct key {
    struct arena *arena;
    const char *id, *owner, *label;
    const char *sealed;  /* the secret, as store/seal.h seals texts */
    const char *session; /* hash of the session token, NULL: a key for good */
    uint64_t created_ms, expires_ms, used_day;
    bool disabled;
};
struct token {
    struct arena *arena;
    const char *id, *owner, *label, *hash, *job;
    uint64_t created_ms, expires_ms;
    bool application;
};

const struct user *identities_user(const struct accounts *, const char *name); /* NULL: no row */
const struct key *identities_key(const struct accounts *, const char *id);
const struct token *identities_token(const struct accounts *, const char *hash);
const struct token *identities_token_named(const struct accounts *, const char *id);

/* Write the row and the memory, in the open transaction. */
void identities_put_user(struct accounts *, const struct user *);
void identities_put_key(struct accounts *, const struct key *);
void identities_put_token(struct accounts *, const struct token *);
void identities_drop_user(struct accounts *, const char *name);
void identities_drop_key(struct accounts *, const char *id);
void identities_drop_token(struct accounts *, const char *id);

/* As they are shown: without what is secret, copied to the arena. identify.c */
struct user_view user_view_of(const struct accounts *, struct arena *, const struct user *);
struct key_view key_view_of(const struct accounts *, struct arena *, const struct key *);
struct token_view token_view_of(const struct accounts *, struct arena *, const struct token *);

#endif
