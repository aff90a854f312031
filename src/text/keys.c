/* A set of members by key: a look along the list for small maps, a table with a random seed (a
 * stranger chooses the keys) once there are more. */
#include "text/keys.h"

#include "base/mem.h"

#include <string.h>

#define SMALL 16u

static const struct text_node **slot_of(const struct keys *k, const char *key)
{
    size_t i = hash_bytes(k->seed, key, strlen(key)) & (k->size - 1);
    while (k->slots[i] && strcmp(k->slots[i]->key, key) != 0)
        i = (i + 1) & (k->size - 1);
    return &k->slots[i];
}

/* A table of size slots with all members that are known. */
static void rebuild(struct keys *k, const struct text_node *map, size_t size)
{
    free((void *)k->slots);
    k->slots = mem_new(size * sizeof *k->slots);
    k->size = size;
    k->count = 0;
    for (const struct text_node *n = map->first; n; n = n->next, k->count++)
        *slot_of(k, n->key) = n;
}

const struct text_node *keys_claim(struct keys *k, const struct text_node *map,
                                   const struct text_node *child)
{
    if (map->count < SMALL) {
        for (const struct text_node *n = map->first; n; n = n->next)
            if (strcmp(n->key, child->key) == 0)
                return n;
        return NULL;
    }
    if (!k->slots) {
        k->seed = hash_seed_random();
        rebuild(k, map, (size_t)SMALL * 4);
    } else if (k->count * 2 >= k->size) {
        rebuild(k, map, k->size * 4);
    }
    const struct text_node **slot = slot_of(k, child->key);
    if (*slot)
        return *slot;
    *slot = child;
    k->count++;
    return NULL;
}

void keys_fini(struct keys *k)
{
    free((void *)k->slots);
    k->slots = NULL;
}
