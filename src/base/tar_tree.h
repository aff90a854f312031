/* Writes a tree of files as a tar archive that is the same for the same content, whoever owns it
 * and whenever it was written: one that base/untar.h takes. */
#ifndef BASE_TAR_TREE_H
#define BASE_TAR_TREE_H

#include "base/err.h"

#include <stdint.h>

#define TAR_TREE_MARKER ".muster-shared-" /* names of files that begin so are no code either */

struct tar_tree_limits {
    uint64_t bytes; /* of all files; 0: none */
    uint64_t files; /* with directories and links; 0: none */
};
struct tar_tree {
    const char *dir;
    const char *under; /* the name that all of it lies below in the archive; NULL: at its top */
    struct tar_tree_limits limits;
};
struct tar_tree_summary {
    uint64_t bytes, files;
    uint64_t n_left; /* left out: links that lead out of the tree, pipes, sockets, devices */
    char left[256];  /* the first of them, as a path in the archive; "": there is none */
};
/* What tools leave (.git, __pycache__, .venv ...) is no code and is left out without a word.
 * ERR_TOO_LARGE for a limit, or ERR_SYSTEM with the path. */
int tar_tree_measure(const struct tar_tree *, struct tar_tree_summary *,
                     struct err *); /* only looks */
int tar_tree_write(int out, const struct tar_tree *, struct tar_tree_summary *, struct err *);

#endif
