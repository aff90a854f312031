/* Ordered name/value pairs (environments, labels), in an arena. */
#ifndef BASE_PAIRS_H
#define BASE_PAIRS_H

#include "base/arena.h"

#include <stddef.h>

struct pair {
    const char *name, *value;
};
struct pairs {
    struct pair *at;
    size_t n, cap;
};

/* Copies both texts; replaces the value where the name is there already (its position stays). */
void pairs_set(struct pairs *, struct arena *, const char *name, const char *value);
/* The same for a value that lives as long as the arena: it is not copied. */
void pairs_put(struct pairs *, struct arena *, const char *name, const char *value);
void pairs_setf(struct pairs *, struct arena *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
const char *pairs_get(const struct pairs *, const char *name); /* NULL when absent */

#endif
