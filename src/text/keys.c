/* A set of members by key: a look along the list for small maps, an index with a random seed (a
 * stranger chooses the keys) once there are more. */
#include "text/keys.h"

#include "base/mem.h"

#include <string.h>

#define SMALL 16u

static uint64_t hash_of(const struct keys *k, const struct text_node *member)
{
    return hash_bytes(k->seed, member->key, strlen(member->key));
}

static void add(struct keys *k, const struct text_node *member)
{
    hash_index_add(&k->by_key, (uint32_t)k->members.n, hash_of(k, member));
    vec_push(&k->members, member);
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
    if (!k->members.n) {
        k->seed = hash_seed_random();
        for (const struct text_node *n = map->first; n; n = n->next)
            add(k, n);
    }
    for (uint32_t at = hash_index_first(&k->by_key, hash_of(k, child)); at != HASH_INDEX_NONE;
         at = hash_index_next(&k->by_key, at))
        if (strcmp(k->members.at[at]->key, child->key) == 0)
            return k->members.at[at];
    add(k, child);
    return NULL;
}

void keys_fini(struct keys *k)
{
    vec_fini(&k->members);
    hash_index_fini(&k->by_key);
}
