/* `muster-node image-digest`: which image a name stands for, asked at its registry for the server.
 */
#ifndef NODE_IMAGE_DIGEST_H
#define NODE_IMAGE_DIGEST_H

/* The question stands on stdin: lines with the name, the home of the account (may be empty) and
 * "UID GID GROUP..." (empty: this process's own), then the credentials as docker login writes them,
 * or nothing. Prints "sha256:DIGEST", or why not. 0; 1: it cannot be said. */
int image_digest_main(void);

#endif
