/* Ordered name/value pairs. Lists are short (an environment has tens): names are searched one by
 * one. */
#include "base/pairs.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct pair *find(const struct pairs *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->at[i].name, name) == 0)
            return &p->at[i];
    return NULL;
}

void pairs_put(struct pairs *p, struct arena *a, const char *name, const char *value)
{
    struct pair *old = find(p, name);
    if (old) {
        old->value = value;
        return;
    }
    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 16;
        struct pair *at = ARENA_ARRAY(a, cap, struct pair);
        if (p->n)
            memcpy(at, p->at, p->n * sizeof *at);
        p->at = at;
        p->cap = cap;
    }
    p->at[p->n++] = (struct pair){ .name = arena_strdup(a, name), .value = value };
}

void pairs_set(struct pairs *p, struct arena *a, const char *name, const char *value)
{
    pairs_put(p, a, name, arena_strdup(a, value));
}

void pairs_setf(struct pairs *p, struct arena *a, const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    size_t size = n > 0 ? (size_t)n + 1 : 1;
    char *value = arena_alloc(a, size);
    va_start(ap, fmt);
    vsnprintf(value, size, fmt, ap);
    va_end(ap);
    pairs_put(p, a, name, value);
}

const char *pairs_get(const struct pairs *p, const char *name)
{
    const struct pair *found = find(p, name);
    return found ? found->value : NULL;
}
