/* Packs directories of code into archives beside the loop; whoever makes the engine has one. */
#ifndef ENGINE_MACHINES_PACKING_H
#define ENGINE_MACHINES_PACKING_H

#include "base/err.h"

#include <stdint.h>

struct account;

struct machines_pack {
    const char *dir;
    const char *under;             /* as in base/tar_tree.h */
    const struct account *account; /* with whose rights it is read; NULL: the server's own */
    uint64_t bytes;                /* of all files, at most; 0: a default */
    const char *file;              /* to make: a gzipped tar */
};
struct packed_archive {
    const char *hash; /* SHA-256 of the file, hex */
    uint64_t n_left;  /* what was left out, and the first of it */
    const char *left;
};
typedef void machines_packed_fn(void *arg, const struct packed_archive *, const struct err *);
struct machines_packer {
    /* fn: once, from the loop. Something for drop, or NULL: it cannot start. */
    void *(*start)(void *arg, const struct machines_pack *, machines_packed_fn *, void *fn_arg,
                   struct err *);
    void (*drop)(void *packing); /* fn is not called any more */
    void *arg;
};

#endif
