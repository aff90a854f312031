/* `muster-node image-digest`: which image a name stands for, asked at its registry for the server.
 */
#ifndef NODE_IMAGE_DIGEST_H
#define NODE_IMAGE_DIGEST_H

#include "base/err.h"
#include "image/reference.h"

struct registry;

/* The question stands on stdin: lines with the name, the home of the account (may be empty) and
 * "UID GID GROUP..." (empty: this process's own), then the credentials as docker login writes them,
 * or nothing. Prints "sha256:DIGEST", or why not. 0; 1: it cannot be said. */
int image_digest_main(void);

/* The same for another answer to the question: what `work` does with it. */
struct image_ask {
    const struct registry *registry;
    const char *auth; /* the credentials; NULL: none */
};
int image_answer(int (*work)(void *arg, const struct image_ask *, char digest[IMAGE_DIGEST_LEN + 1],
                             struct err *),
                 void *arg);

#endif
