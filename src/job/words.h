/* A list of texts, in somebody's arena. */
#ifndef JOB_WORDS_H
#define JOB_WORDS_H

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

#endif
