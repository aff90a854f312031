/* Finds keys that a map has already, in time that does not depend on how many there are or who
 * chose them. */
#ifndef TEXT_KEYS_H
#define TEXT_KEYS_H

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/vec.h"
#include "text/tree.h"

struct keys {                              /* zeroed: of a map without members */
    VEC(const struct text_node *) members; /* none while the map is small: looked at one by one */
    struct hash_index by_key;
    struct hash_seed seed;
};

/* The member of map with child's key, or NULL: then child, which the caller appends, is known from
 * now on. */
const struct text_node *keys_claim(struct keys *, const struct text_node *map,
                                   const struct text_node *child);
void keys_fini(struct keys *);

#endif
