/* Which credentials a registry has accepted for an image that is in the store: whoever comes with
 * others has to be accepted first, although the image is there. */
#ifndef NODE_FETCH_GRANTS_H
#define NODE_FETCH_GRANTS_H

#include "base/err.h"
#include "image/reference.h"

#include <stdbool.h>

/* DIR/grants/DIGEST.MARK    the digest of the tree that DIGEST (of a manifest or a list of them)
 *                           stands for on this node; MARK is made of the credentials
 * DIR/grants/key            random, so that a mark says nothing of a password
 * auth NULL: without credentials, or with the account's own. */
bool grant_find(const char *dir, const char *digest, const char *auth,
                char tree[IMAGE_DIGEST_LEN + 1]);
/* The tree that anybody's credentials were accepted for: to keep it there, not to use it. */
bool grant_find_any(const char *dir, const char *digest, char tree[IMAGE_DIGEST_LEN + 1]);
/* What cannot be kept is asked for again. */
void grant_keep(const char *dir, const char *digest, const char *auth, const char *tree);
/* Those of trees that are gone go too. */
void grants_drop_old(const char *dir);

#endif
