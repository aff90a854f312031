/* Joins and compares lists of texts: they are short, so that every word of one is looked for in the
 * other. */
#include "job/words.h"

#include <string.h>

bool words_are_same(const struct words *a, const struct words *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!words_have(b, a->at[i]))
            return false;
    return a->n == b->n;
}

const char *words_joined(struct arena *arena, const struct words *words, const char *between)
{
    size_t len = 1;
    for (size_t i = 0; i < words->n; i++)
        len += strlen(words->at[i]) + (i ? strlen(between) : 0);
    char *text = arena_alloc(arena, len), *end = text;
    for (size_t i = 0; i < words->n; i++) {
        end = i ? stpcpy(end, between) : end;
        end = stpcpy(end, words->at[i]);
    }
    *end = '\0';
    return text;
}
