/* Directories of other accounts below users_dir, where what their tasks make lies apart from the
 * server's own. */
#ifndef CTL_USER_DIRS_H
#define CTL_USER_DIRS_H

#include "base/arena.h"
#include "base/err.h"

struct account;
struct ctl;

/* A directory of the account in one of ours, where nobody can have been before. */
int user_dirs_give(const char *parent, const char *name, const struct account *, struct err *);
/* Where this machine keeps the images of an account (NULL: the server's own), in arena; and makes
 * that of another account. */
const char *user_dirs_images(const struct ctl *, struct arena *, const struct account *);
int user_dirs_make_images(const struct ctl *, const struct account *, struct err *);

#endif
