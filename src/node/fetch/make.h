/* What the child of a pull does, from a name to a tree in the store. It waits, and tells its steps
 * as it goes on. */
#ifndef NODE_FETCH_MAKE_H
#define NODE_FETCH_MAKE_H

#include "base/err.h"
#include "image/reference.h"
#include "node/fetch/registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PULL_ENTRIES_MAX 2000000u

struct pull_ask {
    const char *store; /* the directory of the store */
    struct image_ref ref;
    const char *auth; /* credentials as docker login writes them; NULL: none but the
                       * user's own */
    size_t auth_len;
    const char *packed;         /* a tar of what the registry would give, used where it is that;
                                 * NULL: there is none. It goes when it was used */
    const char *home;           /* of the account; NULL: that of this process */
    uint64_t limit;             /* bytes of the store, and of one image */
    bool early;                 /* no task waits for it: those of others come first (turn.h), and it
                                 * has to fit beside what is in use; it comes only while it can be
                                 * unpacked as it comes */
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
struct pull_progress {
    enum pull_step step;
    char digest[IMAGE_DIGEST_LEN + 1]; /* what the name stands for: pins the image */
    char tree[IMAGE_DIGEST_LEN + 1];   /* its key in the store */
    uint64_t bytes, total;
    enum err_code code;
    char what[256], hint[200];
};
struct make_sink {
    void (*tell)(void *arg, const struct pull_progress *);
    void *arg;
};
/* Which image the name stands for now. */
int image_resolve(const struct registry *, char digest[IMAGE_DIGEST_LEN + 1], struct err *);
/* auth as in registry.h. *news says which image it is, also after a failure. */
int image_make(const struct pull_ask *, int auth, struct make_sink, struct pull_progress *news,
               struct err *);

#endif
