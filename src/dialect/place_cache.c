/* A short list, looked through from its beginning: a convention keeps a few texts of a job. Names
 * of variables that tasks do without are on a list of their own, each once. */
#include "dialect/place_cache.h"

#include "base/mem.h"

#include <string.h>

#define LEFT_OUT_MAX 16

struct text_entry {
    struct text_entry *next;
    const char *key;
    const void *made;
};

struct place_cache {
    struct arena *arena;
    struct text_entry *first;
    const char *left_out[LEFT_OUT_MAX + 1];
    size_t n;
};

struct place_cache *place_cache_create(struct arena *arena)
{
    struct place_cache *once = arena_alloc(arena, sizeof *once);
    *once = (struct place_cache){ .arena = arena };
    return once;
}

const void *place_cache_get(const struct job_place *place, struct arena *arena, const char *key,
                            place_cache_make *make, const void *arg)
{
    struct place_cache *once = place->once;
    if (!once)
        return make(arena, arg);
    for (const struct text_entry *k = once->first; k; k = k->next)
        if (strcmp(k->key, key) == 0)
            return k->made;
    struct text_entry *kept = arena_alloc(once->arena, sizeof *kept);
    *kept = (struct text_entry){ .key = arena_strdup(once->arena, key),
                                 .made = make(once->arena, arg) };
    kept->next = once->first; /* make() may have kept others */
    once->first = kept;
    return kept->made;
}

void place_leave_out(const struct job_place *place, const char *name)
{
    struct place_cache *once = place->once;
    for (size_t i = 0; once && i < once->n; i++)
        if (strcmp(once->left_out[i], name) == 0)
            return;
    if (once && once->n < LEFT_OUT_MAX)
        once->left_out[once->n++] = name;
}

const char *const *place_left_out(const struct job_place *place)
{
    static const char *const none[] = { NULL };
    return place->once ? place->once->left_out : none;
}
