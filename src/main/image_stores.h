/* Where this machine keeps images, and how much of them. */
#ifndef MAIN_IMAGE_STORES_H
#define MAIN_IMAGE_STORES_H

#include "base/arena.h"
#include "text/tree.h"

/* A list as GET /v1/nodes has it, in arena; NULL: nowhere yet. config: a struct config. */
const struct text_node *image_stores_find(const void *config, struct arena *,
                                          const char *state_dir);

#endif
