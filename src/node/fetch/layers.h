/* Layers that the images of a store share: what one image brought is neither fetched nor unpacked
 * again for the next, and its files lie on the disk once.
 *
 * DIR/layers/BLOB/          by the SHA-256 of what the registry has: layer_record.h, and `about`,
 *                           which unpacked layer that is and which registry gave it
 * DIR/trees/DIGEST/layers   "BLOB BYTES" of each that this tree shares
 * DIR/half/DIGEST/layers    of an image that is being made: which may not go meanwhile */
#ifndef NODE_FETCH_LAYERS_H
#define NODE_FETCH_LAYERS_H

#include "base/map.h"
#include "image/document.h"

struct layers_ask {
    const char *dir, *half; /* of the store; of the image, which is there */
    const char *registry;   /* that has accepted the credentials for the manifest. What another one
                             * gave is not used: only it knows that whoever has the manifest may
                             * have the layers */
    const struct image_manifest *manifest;
    const struct words *diffs; /* as many as there are layers */
};
/* For each layer its record in arena, NULL: it is not there. They stay for as long as half. */
int layers_claim(const struct layers_ask *, struct arena *, const char **kept, struct err *);
/* Where the record of one that comes is to be made, malloc'ed. */
char *layers_place(const struct layers_ask *, size_t layer);
/* All were applied: notes in half which of them the tree shares. */
int layers_note(const struct layers_ask *, const char *const *kept, struct err *);
/* half has become that tree: records that came with it are for the next from now on. */
void layers_publish(const char *dir, const char *tree);
/* Removes those that nothing names any more. */
void layers_drop_unused(const char *dir);
/* Adds those of that tree to named. */
void layers_name(const char *tree, struct string_map *named);
/* What those take of the disk, less names that are not theirs, that are neither in named, which is
 * added to, nor those of an image that is being made. */
uint64_t layers_unnamed_disk(const char *dir, struct string_map *named);
/* Of the bytes of a tree, those of layers that are not in seen; they are from then on. */
uint64_t layers_count(const char *tree, uint64_t bytes, struct string_map *seen);

#endif
