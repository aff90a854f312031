/* Bump allocation with one owner: everything of a request, a job or a scheduling pass is freed
 * together. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_create(void);            /* small first block; grows in doubling blocks */
struct arena *arena_create_of(size_t first); /* bytes of the first block, 64 or more */
/* The first block holds copies of these texts (NULL: none) and nothing else. */
struct arena *arena_create_for(const char *const *texts, size_t n);
void arena_destroy(struct arena *); /* NULL-safe */
void arena_wipe(struct arena *);    /* overwrites all that it holds: before it is destroyed */
void arena_reset(struct arena *);   /* keeps the first block */
size_t arena_used(const struct arena *);

void *arena_alloc(struct arena *,
                  size_t n); /* zeroed, aligned for any type; n = 0 gives a valid pointer */
/* Array of n zeroed elements; aborts on overflow. */
void *arena_array(struct arena *, size_t n, size_t size);
#define ARENA_NEW(arena, type)      ((type *)arena_alloc(arena, sizeof(type)))
#define ARENA_ARRAY(arena, n, type) ((type *)arena_array(arena, n, sizeof(type)))
char *arena_strdup(struct arena *, const char *s); /* NULL gives NULL */
char *arena_strndup(struct arena *, const char *s, size_t n);
char *arena_printf(struct arena *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
