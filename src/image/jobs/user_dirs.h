/* Directories of other accounts below users_dir, where what their tasks make lies apart from the
 * server's own. */
#ifndef IMAGE_JOBS_USER_DIRS_H
#define IMAGE_JOBS_USER_DIRS_H

#include "base/arena.h"
#include "base/err.h"

struct account;
struct user_dirs {
    const char *state_dir, *users_dir; /* of the server; what belongs to other accounts */
};

/* A directory of the account in one of ours, where nobody can have been before. */
int user_dirs_give(const char *parent, const char *name, const struct account *, struct err *);
/* Where this machine keeps the images of an account (NULL: the server's own), in arena; and makes
 * that of another account. */
const char *user_dirs_images(const struct user_dirs *, struct arena *, const struct account *);
int user_dirs_make_images(const struct user_dirs *, const struct account *, struct err *);

#endif
