/* One layer of an image, applied to the tree that the layers below it made. */
#ifndef NODE_FETCH_LAYER_H
#define NODE_FETCH_LAYER_H

#include "base/err.h"
#include "image/document.h"

#include <stdbool.h>
#include <stdint.h>

struct layer_limits { /* of all layers of an image together: what is left of them */
    uint64_t bytes;   /* of the unpacked streams */
    uint64_t entries;
};
struct layer {
    int fd;                     /* the packed file, at its beginning */
    enum image_packing packing; /* gzip and zstd of this machine unpack it */
    const char *diff;           /* SHA-256 of the unpacked stream, hex */
    bool owners;                /* files get the owners that the layer says (root), and their
                                 * setuid bits; else all is the caller's, without such bits */
    const char *record;         /* where it is kept for later (layer_record.h); NULL: it is not */
    const char *kept; /* such a record, from which it is applied: its files become further names of
                       * those that were made then, so nothing may ever write into them; NULL: of
                       * fd, packing and diff */
};
/* Nothing outside of the directory root is touched, whatever the layer says: its names and its
 * links are followed as if root were "/". Whiteouts remove what the layers below made; devices are
 * left out, extended attributes too. ERR_INPUT: it is no layer, or not the one of that SHA-256;
 * ERR_TOO_LARGE; ERR_FULL; ERR_SYSTEM; ERR_UNAVAILABLE: the record is of no use. After a failure
 * the tree is of no use. SIGCHLD has to be as usual. */
int layer_apply(const struct layer *, int root, struct layer_limits *, struct err *);

/* SHA-256 of what fd gives from where it is, hex. */
int layer_hash(int fd, char hex[IMAGE_DIGEST_LEN + 1], struct err *);

#endif
