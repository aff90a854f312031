/* Secrets as they are kept: tokens as hashes, secrets of keys sealed with the store's key. Private
 * to account/. */
#ifndef ACCOUNT_SECRETS_H
#define ACCOUNT_SECRETS_H

#include "account/accounts.h"
#include "base/arena.h"

#define SECRET_TEXT 65 /* hex of a SHA-256, and the end */

void secret_hash(char out[SECRET_TEXT], const char *text);
/* In arena. open: NULL when the box is not of this server. */
const char *secret_seal(const struct accounts *, struct arena *, const char *text);
const char *secret_open(const struct accounts *, struct arena *, const char *sealed);

#endif
