/* What older versions wrote, read again. A text names at most one job, in one of the clauses below.
 * Which one it is stands there as a number; where its name ends is not looked for closely: whoever
 * may not read the job loses what stands between. */
#include "job/old_sentence.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Around "job 12", "job 12 (prep)", "array 12 (sweep)", "12[3] (sweep)". */
static const struct {
    const char *before, *after;
} clauses[] = {
    { "makes room for ", "" },     { "there is room, and ", " was promised it" },
    { "waits for ", " to end" },   { "waited for ", " to end" },
    { "replaced by ", "" },        { ": ", " is suspended" },
    { ", and ", " names others" },
};

static const char *skip(const char *at, const char *word)
{
    size_t len = strlen(word);
    return strncmp(at, word, len) == 0 ? at + len : at;
}

/* What follows the number; NULL: it is none. */
static const char *read_number(const char *at, uint64_t *number)
{
    char *end;
    at = skip(skip(at, "job "), "array ");
    if (*at < '1' || *at > '9')
        return NULL;
    *number = strtoull(at, &end, 10);
    return *end == '[' ? end + strcspn(end, "]") + (strchr(end, ']') != NULL) : end;
}

/* Past " (name)": a name may have brackets too, so the last one that the sentence goes on after. */
static const char *skip_name(const char *at, const char *after)
{
    size_t len = strlen(after);
    if (strncmp(at, " (", 2) != 0)
        return strncmp(at, after, len) == 0 ? at : NULL;
    const char *end = NULL;
    for (const char *close = strchr(at, ')'); close; close = strchr(close + 1, ')'))
        if (strncmp(close + 1, after, len) == 0)
            end = close + 1;
    return end ? end : at + strlen(at); /* it was cut */
}

struct job_mention { /* where a job stands in a text */
    const char *from, *to;
    uint64_t number;
};

/* By that clause. false: it is not in the text. */
static bool find(const char *text, size_t clause, struct job_mention *spot)
{
    const char *before = clauses[clause].before;
    for (const char *at = strstr(text, before); at; at = strstr(at + 1, before)) {
        spot->from = at + strlen(before);
        spot->to = read_number(spot->from, &spot->number);
        spot->to = spot->to ? skip_name(spot->to, clauses[clause].after) : NULL;
        if (spot->to)
            return true;
    }
    return false;
}

/* The first that is named: another one may only stand in its name. */
static bool find_first(const char *text, struct job_mention *first)
{
    struct job_mention one;
    *first = (struct job_mention){ .from = NULL };
    for (size_t i = 0; i < ARRAY_LEN(clauses); i++)
        if (find(text, i, &one) && (!first->from || one.from < first->from))
            *first = one;
    return first->from != NULL;
}

struct sentence old_sentence(struct arena *arena, const char *text)
{
    struct job_mention spot;
    if (!text || !find_first(text, &spot))
        return (struct sentence){ .text = text };
    int before = (int)(spot.from - text);
    return (struct sentence){
        .text = arena_printf(arena, "%.*s%s%s", before, text, HIDDEN_JOB, spot.to),
        .named = { .number = spot.number,
                   .called = arena_strndup(arena, spot.from, (size_t)(spot.to - spot.from)),
                   .at = (uint32_t)before,
                   .len = sizeof HIDDEN_JOB - 1 }
    };
}

struct sentence recorded_sentence(struct arena *arena, const char *text, const char *packed)
{
    if (!packed)
        return old_sentence(arena, text);
    return (struct sentence){ .text = text, .named = named_job_unpack(arena, text, packed) };
}
