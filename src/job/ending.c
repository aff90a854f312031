/* Words for who ended an attempt and for what, for records and answers, and back. They are stored:
 * a word may be added and none may change. */
#include "job/ending.h"

#include "base/err.h"

#include <string.h>

#define END_BY_WORD(id, word) [BY_##id] = (word),
static const char *const bys[END_BY_N] = { [BY_NONE] = "", END_BYS(END_BY_WORD) };

const char *end_origin_word(enum end_origin by)
{
    return by > BY_NONE && by < END_BY_N ? bys[by] : "";
}

enum end_origin end_origin_parse(const char *word)
{
    for (int by = BY_NONE + 1; by < END_BY_N; by++)
        if (strcmp(bys[by], word) == 0)
            return (enum end_origin)by;
    return BY_NONE;
}

#define END_CAUSE_WORD(id, word) [CAUSE_##id] = (word),
static const char *const causes[END_CAUSE_N] = { [CAUSE_NONE] = "", END_CAUSES(END_CAUSE_WORD) };

const char *end_cause_word(enum end_cause cause)
{
    return cause > CAUSE_NONE && cause < END_CAUSE_N ? causes[cause] : "";
}

enum end_cause end_cause_parse(const char *word)
{
    for (int cause = CAUSE_NONE + 1; cause < END_CAUSE_N; cause++)
        if (strcmp(causes[cause], word) == 0)
            return (enum end_cause)cause;
    return CAUSE_NONE;
}

struct ending ending_of_fault(const struct err *err)
{
    bool own = err->code == ERR_INPUT || err->code == ERR_CANNOT || err->code == ERR_TOO_LARGE;
    return (struct ending){ .by = own ? BY_ITSELF : BY_PLATFORM,
                            .cause = err->code == ERR_FULL ? CAUSE_NODE_FULL : CAUSE_NONE };
}
