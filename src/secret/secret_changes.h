/* What is known of secrets and waits for a commit: which were set anew in the open transaction, and
 * which were handed to jobs since the last one. */
#ifndef SECRET_SECRET_CHANGES_H
#define SECRET_SECRET_CHANGES_H

#include "base/vec.h"

#include <stdint.h>

struct changed_secret {
    char *owner, *project, *name; /* owner or project; name may be a whole set */
};
struct secret_usage {
    char *owner, *project, *name, *what; /* as in struct secret_use (account/vault.h) */
    uint64_t job;
};
struct secret_changes {
    VEC(struct changed_secret) changed;
    VEC(struct secret_usage) used;
};

void secret_changes_fini(struct secret_changes *);
/* Texts are copied; owner or project is NULL. */
void secret_changes_set(struct secret_changes *, const char *owner, const char *project,
                        const char *name);
/* `used` is given away with its texts; beyond a bound the oldest is what is kept. */
void secret_changes_use(struct secret_changes *, struct secret_usage used);
void secret_changes_clear_set(struct secret_changes *);
void secret_changes_clear_used(struct secret_changes *);

#endif
