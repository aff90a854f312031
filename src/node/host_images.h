/* Images that come to a machine while their jobs wait in the queue: into the store that its agents
 * share, one after the other, with the least right to processors and the disk. */
#ifndef NODE_HOST_IMAGES_H
#define NODE_HOST_IMAGES_H

#include "wire/host.h"

#include <uv.h>

struct host_images_config { /* texts outlive it */
    uv_loop_t *loop;
    const char *dir; /* of the host: the store is in it, as agents have it */
    /* From the loop, or from inside a call; of a number none follows READY or FAILED. */
    void (*news)(void *arg, const struct wire_host_image_report *);
    void *arg;
};
struct host_images;
struct host_images *host_images_create(const struct host_images_config *);
void host_images_destroy(struct host_images *); /* NULL-safe; what comes is ended and not told */

/* What the store takes now; its dir lasts as long as these. false: there is none yet. */
bool host_images_store(const struct host_images *, struct wire_host_store_report *out);

/* One of a number that is known already is that one. */
void host_images_fetch(struct host_images *, const struct wire_host_image *);
/* Nobody wants it: it is ended, and no news follow. */
void host_images_drop(struct host_images *, uint32_t number);
void host_images_drop_all(struct host_images *); /* the server that wanted them is gone */

#endif
