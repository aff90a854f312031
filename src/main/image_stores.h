/* Where machines keep images, and how much of them: the server's own, and the others. */
#ifndef MAIN_IMAGE_STORES_H
#define MAIN_IMAGE_STORES_H

#include "api/api.h"

struct config;
struct engine;

/* Both outlive it; in arena. machines: the engine of other machines. */
struct api_image_stores image_stores_of(struct arena *, const struct config *,
                                        const struct engine *machines);

#endif
