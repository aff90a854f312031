/* Hash maps to pointers: open addressing with linear probing, at most 3/4 full, and removal that
 * moves later entries of the run back, so that there are no tombstones and look-ups stay short. A
 * NULL value marks a free slot. Both maps share the table; the text map keeps the hash as the
 * number and its own copy of the key. */
#include "base/map.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define SLOTS_FIRST ((size_t)8)

struct slot {
    uint64_t hash; /* map: mixed key, smap: of the text */
    uint64_t key;  /* map only */
    char *text;    /* smap only; owned */
    void *value;
};

struct table {
    struct slot *slots;
    size_t size, count; /* size is a power of two or 0 */
};

struct map {
    struct table t;
};

struct string_map {
    struct table t;
    struct hash_seed seed;
};

/* What is looked for: text decides when it is there, else the number. */
struct map_key {
    uint64_t hash, key;
    const char *text;
};

static bool slot_is(const struct slot *s, const struct map_key *w)
{
    return s->hash == w->hash && (w->text ? strcmp(s->text, w->text) == 0 : s->key == w->key);
}

static struct slot *find(const struct table *t, const struct map_key *w)
{
    if (t->count == 0)
        return NULL;
    size_t mask = t->size - 1;
    for (size_t i = w->hash & mask; t->slots[i].value; i = (i + 1) & mask)
        if (slot_is(&t->slots[i], w))
            return &t->slots[i];
    return NULL;
}

static struct slot *free_slot(const struct table *t, uint64_t hash)
{
    size_t mask = t->size - 1, i = hash & mask;
    while (t->slots[i].value)
        i = (i + 1) & mask;
    return &t->slots[i];
}

static void grow(struct table *t)
{
    struct table wide = { .size = t->size ? t->size * 2 : SLOTS_FIRST, .count = t->count };
    wide.slots = mem_new(wide.size * sizeof *wide.slots);
    for (size_t i = 0; i < t->size; i++)
        if (t->slots[i].value)
            *free_slot(&wide, t->slots[i].hash) = t->slots[i];
    free(t->slots);
    *t = wide;
}

static void *get(const struct table *t, const struct map_key *w)
{
    const struct slot *s = find(t, w);
    return s ? s->value : NULL;
}

static void set(struct table *t, const struct map_key *w, void *value)
{
    if (!value)
        BUG("a map keeps no NULL");
    struct slot *s = find(t, w);
    if (s) {
        s->value = value;
        return;
    }
    if ((t->count + 1) * 4 > t->size * 3)
        grow(t);
    s = free_slot(t, w->hash);
    *s = (struct slot){
        .hash = w->hash, .key = w->key, .text = mem_strdup(w->text), .value = value
    };
    t->count++;
}

static void *take(struct table *t, const struct map_key *w)
{
    struct slot *s = find(t, w);
    if (!s)
        return NULL;
    void *value = s->value;
    free(s->text);
    size_t mask = t->size - 1, hole = (size_t)(s - t->slots);
    for (size_t i = (hole + 1) & mask; t->slots[i].value; i = (i + 1) & mask) {
        /* Entry i may fill the hole unless its home lies after the hole, up to i. */
        size_t home = t->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            t->slots[hole] = t->slots[i];
            hole = i;
        }
    }
    t->slots[hole] = (struct slot){ .value = NULL };
    t->count--;
    return value;
}

static const struct slot *next(const struct table *t, size_t *cursor)
{
    while (*cursor < t->size) {
        const struct slot *s = &t->slots[(*cursor)++];
        if (s->value)
            return s;
    }
    return NULL;
}

static void free_values(const struct table *t, void (*free_value)(void *))
{
    for (size_t i = 0; i < t->size; i++)
        if (t->slots[i].value)
            free_value(t->slots[i].value);
}

static struct map_key number(uint64_t key)
{
    return (struct map_key){ .hash = hash_u64(key), .key = key };
}

static struct map_key text(const struct string_map *m, const char *key)
{
    return (struct map_key){ .hash = hash_bytes(m->seed, key, strlen(key)), .text = key };
}

struct map *map_create(void)
{
    return mem_new(sizeof(struct map));
}

void map_destroy(struct map *m)
{
    if (!m)
        return;
    free(m->t.slots);
    free(m);
}

void map_destroy_with(struct map *m, void (*free_value)(void *))
{
    if (m)
        free_values(&m->t, free_value);
    map_destroy(m);
}

size_t map_count(const struct map *m)
{
    return m->t.count;
}

void *map_get(const struct map *m, uint64_t key)
{
    struct map_key w = number(key);
    return get(&m->t, &w);
}

void map_set(struct map *m, uint64_t key, void *value)
{
    struct map_key w = number(key);
    set(&m->t, &w, value);
}

void *map_remove(struct map *m, uint64_t key)
{
    struct map_key w = number(key);
    return take(&m->t, &w);
}

bool map_next(const struct map *m, size_t *cursor, uint64_t *key, void **value)
{
    const struct slot *s = next(&m->t, cursor);
    if (!s)
        return false;
    if (key)
        *key = s->key;
    if (value)
        *value = s->value;
    return true;
}

struct string_map *string_map_create(void)
{
    struct string_map *m = mem_new(sizeof *m);
    m->seed = hash_seed_random();
    return m;
}

void string_map_destroy(struct string_map *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->t.size; i++)
        free(m->t.slots[i].text);
    free(m->t.slots);
    free(m);
}

void string_map_destroy_with(struct string_map *m, void (*free_value)(void *))
{
    if (m)
        free_values(&m->t, free_value);
    string_map_destroy(m);
}

bool string_map_destroy_some(struct string_map *m, size_t *cursor, size_t n,
                             void (*free_value)(void *))
{
    for (; n > 0 && *cursor < m->t.size; n--, ++*cursor) {
        struct slot *s = &m->t.slots[*cursor];
        if (s->value && free_value)
            free_value(s->value);
        free(s->text);
    }
    if (*cursor < m->t.size)
        return true;
    free(m->t.slots);
    free(m);
    return false;
}

size_t string_map_count(const struct string_map *m)
{
    return m->t.count;
}

void *string_map_get(const struct string_map *m, const char *key)
{
    struct map_key w = text(m, key);
    return get(&m->t, &w);
}

void string_map_set(struct string_map *m, const char *key, void *value)
{
    struct map_key w = text(m, key);
    set(&m->t, &w, value);
}

void *string_map_remove(struct string_map *m, const char *key)
{
    struct map_key w = text(m, key);
    return take(&m->t, &w);
}

bool string_map_next(const struct string_map *m, size_t *cursor, const char **key, void **value)
{
    const struct slot *s = next(&m->t, cursor);
    if (!s)
        return false;
    if (key)
        *key = s->text;
    if (value)
        *value = s->value;
    return true;
}
