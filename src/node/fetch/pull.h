/* An image comes onto this node: asked for at its registry, fetched, checked and unpacked into the
 * store, once for all that ask at the same time. All of it happens in a child that has the rights
 * of the account whose store it is. */
#ifndef NODE_FETCH_PULL_H
#define NODE_FETCH_PULL_H

#include "base/err.h"
#include "image/reference.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define PULL_ENTRIES_MAX 2000000u

struct pull_ask {
    const char *store; /* the directory of the store */
    struct image_ref ref;
    const char *auth; /* credentials as docker login writes them; NULL: none but the
                       * user's own */
    size_t auth_len;
    const char *home;           /* of the account; NULL: that of this process */
    uint64_t limit;             /* bytes of the store, and of one image */
    int (*drop_rights)(void *); /* in the child: it becomes the account. 0, or -1 and errno */
    void *drop_arg;
};

enum pull_step {
    PULL_RESOLVED, /* which image it is: digest */
    PULL_WAITS,    /* somebody else fetches it */
    PULL_FETCHES,  /* bytes of total are here; total 0: not known */
    PULL_UNPACKS,  /* layer `bytes` of `total` */
    PULL_DONE,     /* tree is in the store */
    PULL_FAILED    /* err */
};
struct pull_news {
    enum pull_step step;
    char digest[IMAGE_DIGEST_LEN + 1]; /* what the name stands for: pins the image */
    char tree[IMAGE_DIGEST_LEN + 1];   /* its key in the store */
    uint64_t bytes, total;
    enum err_code code;
    char what[256], hint[200];
};
struct pull_sink {
    void (*news)(void *arg, const struct pull_news *); /* PULL_DONE or PULL_FAILED is the last */
    void *arg;
};
struct pull;
/* NULL when it cannot start. ask is only read in the call. */
struct pull *pull_start(uv_loop_t *, const struct pull_ask *, struct pull_sink, struct err *);
void pull_destroy(struct pull *); /* NULL-safe; ends it when it still runs */

#endif
