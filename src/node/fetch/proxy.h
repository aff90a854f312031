/* One image of a registry, given part by part by a skopeo that runs for as long as it is asked:
 * its manifest, and what the manifest names, while the bytes arrive. */
#ifndef NODE_FETCH_PROXY_H
#define NODE_FETCH_PROXY_H

#include "base/err.h"
#include "image/document.h"
#include "node/fetch/registry.h"

#include <stddef.h>
#include <stdint.h>

struct proxy;
struct proxy_pipe {
    int fd;      /* bytes until its end; the caller closes it */
    uint32_t id; /* for proxy_finish */
};
/* Starts it. The registry has to live as long. NULL: ERR_SYSTEM. */
struct proxy *proxy_start(const struct registry *, struct err *);
void proxy_destroy(struct proxy *); /* NULL-safe; ends it */

/* All wait; errors as in registry.h. Opens the image of that manifest. 1: there is no skopeo that
 * can be asked so; nothing is wrong with the image. */
int proxy_open(struct proxy *, const char *digest, struct err *err);
/* The manifest, malloc'ed; skopeo may have written it anew, so it may have another SHA-256. */
int proxy_manifest(struct proxy *, char **text, size_t *len, struct err *err);
/* A part that begins to come. Several may come at once. */
int proxy_blob(struct proxy *, const struct image_blob *, struct proxy_pipe *out, struct err *err);
/* The end of a pipe comes only after it was asked whether all came, and was what its name says;
 * the answer, after the last byte was read. Nothing else may be asked between the two. */
int proxy_finish(struct proxy *, const struct proxy_pipe *, struct err *err);
int proxy_finished(struct proxy *, struct err *err);
int proxy_socket(const struct proxy *); /* readable when there is an answer */
/* A small part, whole and with its end told; malloc'ed. */
int proxy_text(struct proxy *, const struct image_blob *, char **text, size_t *len,
               struct err *err);

#endif
