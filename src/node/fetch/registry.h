/* What a registry is asked for: the manifest of a name, and all files of an image. By skopeo of
 * this node, as a child of whoever asks, who waits for it. */
#ifndef NODE_FETCH_REGISTRY_H
#define NODE_FETCH_REGISTRY_H

#include "base/err.h"
#include "image/reference.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REGISTRY_STALL_MS 300000 /* without a byte: it does not answer */

struct registry {
    const struct image_ref *ref;
    int auth;         /* of a file of credentials as docker login writes it, that may be opened
                       * again by /proc/self/fd */
    const char *home; /* of the account, for its own configuration; NULL: that of the environment */
};

/* All errors: ERR_INPUT what the user has to change (there is no such image, no access), with the
 * hint; ERR_UNAVAILABLE what may pass; ERR_FULL; ERR_CANNOT no skopeo here. */
/* The manifest, or list of them, that the name stands for now, as it came. *text is malloc'ed. */
int registry_manifest(const struct registry *, char **text, size_t *len, struct err *);
/* The image of that manifest into the directory `to`, which is made: manifest.json and a file for
 * each part, named by its SHA-256. tick is called several times a second; how many bytes are there.
 */
int registry_copy(const struct registry *, const char *digest, const char *to,
                  void (*tick)(void *arg, uint64_t bytes), void *arg, struct err *);

/* A descriptor for `auth` of the above: of that text, or, where it is NULL, of what docker login or
 * skopeo login left for the account of that home (as above), which may be nothing. Newer versions
 * of skopeo look at no file but the one that they are given. */
int registry_open_auth(const char *text, size_t len, const char *home, struct err *);

/* In a child of `parent`: becomes a skopeo that is asked over that socket (proxy.h). */
_Noreturn void registry_serve(const struct registry *, int socket, pid_t parent);

/* Nothing came for so long. Returns -1. */
int registry_stalled(const struct registry *, struct err *err);
/* What skopeo's last words mean, as an error about that image; for tests too. Returns -1. */
int registry_failure(const struct image_ref *, const char *said, struct err *);

#endif
