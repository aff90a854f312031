/* What an earlier pilot of the same allocation left on this node: its directory and its tasks, or
 * itself, when only the way to the server was cut. */
#ifndef NODE_EARLIER_H
#define NODE_EARLIER_H

#include "base/err.h"

/* NONE: nothing of it is on this machine. LIVES: it does, or may, or something that it started does
 * and its directory cannot be had. LEFT: it is dead; whoever has its directory has its tasks. */
enum earlier { EARLIER_NONE, EARLIER_LIVES, EARLIER_LEFT };
struct earlier_search {
    const char *dirs; /* apart by colons: where its directory may lie */
    const char *allocation, *node;
    const char *token_hash; /* SHA-256 of its host's token, hex */
};
/* LEFT: *dir is malloc'ed, and *lock is held. */
enum earlier earlier_find(const struct earlier_search *, char **dir, int *lock);
/* The folder of directories in that one; malloc'ed. */
char *earlier_folder(const char *in, size_t len);
/* A new directory is this process's, as long as it lives: a descriptor, or -1. */
int earlier_lock(const char *dir, struct err *err);

#endif
