/* What is known of secrets and waits for a commit: which were set anew in the open transaction, and
 * which were handed to jobs since the last one. */
#ifndef CTL_SECRET_CHANGES_H
#define CTL_SECRET_CHANGES_H

#include "base/vec.h"

#include <stdint.h>

struct changed_secret {
    char *owner, *project, *name; /* owner or project; name may be a whole set */
};
struct secret_usage {
    char *owner, *project, *name, *what; /* as in struct secret_use (account/vault.h) */
    uint64_t job;
};
struct secrets {
    VEC(struct changed_secret) changed;
    VEC(struct secret_usage) used;
};

struct secrets *secrets_create(void);
void secrets_destroy(struct secrets *); /* NULL-safe */
/* Texts are copied; owner or project is NULL. */
void secrets_changed(struct secrets *, const char *owner, const char *project, const char *name);
/* `used` is given away with its texts; beyond a bound the oldest is what is kept. */
void secrets_used(struct secrets *, struct secret_usage used);
void secrets_clear_changed(struct secrets *);
void secrets_clear_used(struct secrets *, size_t but); /* all but the first ones */

#endif
