/* Hash maps to pointers, keyed by a 64-bit number or by text (the key is copied). Values are not
 * owned; who owns them destroys the map with what frees one. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map; /* keys: uint64_t */
struct map *map_create(void);
void map_destroy(struct map *); /* NULL-safe */
void map_destroy_with(struct map *, void (*free_value)(void *));
size_t map_count(const struct map *);
void *map_get(const struct map *, uint64_t key);       /* NULL when absent */
void map_set(struct map *, uint64_t key, void *value); /* value may not be NULL; replaces */
void *map_remove(struct map *, uint64_t key);          /* the removed value or NULL */
/* Iteration in unspecified order; start with *cursor = 0; false at the end. No change while
 * iterating. */
bool map_next(const struct map *, size_t *cursor, uint64_t *key, void **value);

struct string_map; /* keys: NUL-terminated text */
struct string_map *string_map_create(void);
void string_map_destroy(struct string_map *);
void string_map_destroy_with(struct string_map *, void (*free_value)(void *));
/* The same in steps of n slots; *cursor is 0 at the first, after which the map is good for nothing
 * else. false: that was the last, the map is gone. free_value NULL: values are not freed. */
bool string_map_destroy_some(struct string_map *, size_t *cursor, size_t n,
                             void (*free_value)(void *));
size_t string_map_count(const struct string_map *);
void *string_map_get(const struct string_map *, const char *key);
void string_map_set(struct string_map *, const char *key, void *value);
void *string_map_remove(struct string_map *, const char *key);
bool string_map_next(const struct string_map *, size_t *cursor, const char **key, void **value);

#endif
