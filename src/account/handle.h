/* What accounts are made of: the server's config, the records by name, id and hash, what the audit
 * record keeps. Private to account/. */
#ifndef ACCOUNT_HANDLE_H
#define ACCOUNT_HANDLE_H

#include "account/accounts.h"

struct string_map;
struct auditor;
struct accounts {
    struct accounts_config config;            /* with its texts */
    struct string_map *users, *keys, *tokens; /* by name, id, hash */
    struct string_map *token_ids;
    bool touched; /* in the open transaction */
    struct auditor *auditor;
};
uint64_t accounts_now(const struct accounts *);
uint64_t accounts_date(const struct accounts *);
/* The account of the operating system that the user's row names; NULL: none. identities.c */
const char *identities_account(const struct accounts *, const char *name);

#endif
