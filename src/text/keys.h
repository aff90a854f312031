/* Finds keys that a map has already, in time that does not depend on how many there are or who
 * chose them. */
#ifndef TEXT_KEYS_H
#define TEXT_KEYS_H

#include "base/hash.h"
#include "text/tree.h"

struct keys {
    const struct text_node *
        *slots; /* NULL while the map is small: its members are looked at one by one */
    size_t size, count;
    struct hash_seed seed;
};

/* The member of map with child's key, or NULL: then child, which the caller appends, is known from
 * now on. */
const struct text_node *keys_claim(struct keys *, const struct text_node *map,
                                   const struct text_node *child);
void keys_fini(struct keys *);

#endif
