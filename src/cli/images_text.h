/* What a node says of the images that it keeps, for people. */
#ifndef CLI_IMAGES_TEXT_H
#define CLI_IMAGES_TEXT_H

#include "base/arena.h"
#include "text/tree.h"

/* "1.2 GiB/64 GiB, 30 GiB free" for each store of the list, in arena; places: with how many they
 * are and where. NULL or empty: "". */
const char *images_text(struct arena *, const struct text_node *stores, bool places);

#endif
