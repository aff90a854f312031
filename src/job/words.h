/* A list of texts, in somebody's arena. */
#ifndef JOB_WORDS_H
#define JOB_WORDS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct words {
    const char **at;
    size_t n;
};

static inline bool words_have(const struct words *words, const char *word)
{
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->at[i], word) == 0)
            return true;
    return false;
}

/* Have both the same words, in whatever order? Neither has one twice. */
bool words_are_same(const struct words *, const struct words *);

/* "a, b, c", in arena; "" of none. */
const char *words_joined(struct arena *, const struct words *, const char *between);

#endif
