/* Words for who ended an attempt, for records and answers, and back. They are stored: a word may be
 * added and none may change. */
#include "job/ending.h"

#include <string.h>

#define END_BY_WORD(id, word) [BY_##id] = (word),
static const char *const words[END_BY_N] = { [BY_NONE] = "", END_BYS(END_BY_WORD) };

const char *end_by_word(enum end_by by)
{
    return by > BY_NONE && by < END_BY_N ? words[by] : "";
}

enum end_by end_by_parse(const char *word)
{
    for (int by = BY_NONE + 1; by < END_BY_N; by++)
        if (strcmp(words[by], word) == 0)
            return (enum end_by)by;
    return BY_NONE;
}
