/* The account of the operating system that the processes of a job run as. Numbers, so that no name
 * service has to be asked where they are used. */
#ifndef JOB_ACCOUNT_H
#define JOB_ACCOUNT_H

#include "base/fs_user.h"

#define ACCOUNT_GROUPS_MAX 1024u

struct arena;
struct text_node;

struct account {
    const char *name, *home, *shell; /* as the account database has them; home may not exist */
    struct fs_user ids;              /* at most ACCOUNT_GROUPS_MAX groups */
};
/* File access with its rights (fs_user_enter); NULL: one's own. */
static inline const struct fs_user *account_files(const struct account *account)
{
    return account ? &account->ids : NULL;
}

/* In a row: as the member "account" of parent, and back, in arena; NULL: there is none, or it is no
 * ordinary one. */
void account_put(struct arena *, struct text_node *parent, const struct account *);
const struct account *account_find(struct arena *, const struct text_node *parent);
const struct account *account_copy(struct arena *, const struct account *);

#endif
