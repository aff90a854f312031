/* Where a node keeps images: each unpacked once, under the digest of its manifest, in a directory
 * that belongs to one account. What was not made to its end has another name, so it is never used.
 *
 * DIR/trees/DIGEST/root          the file system
 * DIR/trees/DIGEST/config.json   the image's configuration
 * DIR/trees/DIGEST/bytes         what it takes of the limit
 * DIR/half/DIGEST/               what is being made, by who has the lock of that digest
 * DIR/grants/                   whose credentials were accepted (grants.h)
 * DIR/locks/DIGEST.make, .use    exclusive: makes it, removes it; .use shared: runs tasks in it */
#ifndef NODE_FETCH_STORE_H
#define NODE_FETCH_STORE_H

#include "base/err.h"
#include "image/document.h"

#include <stdbool.h>
#include <stdint.h>

struct store_tree { /* paths; freed by store_tree_fini */
    char *tree, *root, *config, *half;
};
void store_tree_init(struct store_tree *, const char *dir, const char *digest);
void store_tree_fini(struct store_tree *);

/* All with the file rights of the caller (base/fs_user.h). */
int store_prepare(const char *dir, struct err *); /* makes the directories */
bool store_has(const struct store_tree *);
/* Waits until nobody else makes it. *fd is the lock, until it is closed. */
int store_lock(const char *dir, const char *digest, int *fd, struct err *);
/* The same without waiting: 1 when somebody else makes it. */
int store_try_lock(const char *dir, const char *digest, int *fd, struct err *);
/* What is in half/ becomes the tree: it is on the disk before it has its name. */
int store_finish(const struct store_tree *, uint64_t bytes, struct err *);
void store_drop_half(const struct store_tree *);
/* Keeps it from being removed until the descriptor is closed, and counts as a use. -1: it is not
 * there, or no longer. */
int store_use(const char *dir, const char *digest, struct err *);
struct store_sum {
    uint64_t images, bytes; /* as they count for the limit */
    uint64_t free;          /* on its disk */
};
/* false: there is no store. */
bool store_add_up(const char *dir, struct store_sum *);
/* What all that somebody uses counts for the limit. */
uint64_t store_used(const char *dir);
/* What all that nobody uses takes of the disk. */
uint64_t store_unused(const char *dir);
/* Removes what pulls that were killed left. */
void store_drop_remains(const char *dir);
/* Removes the one that was used longest ago, of those that nobody uses. false: there is none. */
bool store_drop_oldest(const char *dir);
/* Removes what was used longest ago until all trees together have at most so many bytes, but none
 * that is in use; and what pulls that were killed left. */
void store_keep_limit(const char *dir, uint64_t limit);

#endif
