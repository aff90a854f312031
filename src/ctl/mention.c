/* A text names at most one job in each kind of sentence. Which one it is stands in it as a number;
 * where its name ends is not looked for closely: whoever may not read the job loses what stands
 * between. */
#include "ctl/mention.h"

#include "base/arena.h"
#include "base/mem.h"
#include "ctl/array.h"
#include "ctl/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form { NUMBER, NAME, MEMBER }; /* job 12, job 12 (prep), 12[3] (sweep) */

static const struct sentence {
    const char *before, *after;
    enum form form;
} sentences[] = {
    [MENTION_ROOM] = { "makes room for ", "", NAME },
    [MENTION_PROMISED] = { "there is room, and ", " was promised it", NAME },
    [MENTION_WAITS] = { "waits for ", " to end", MEMBER },
    [MENTION_WAITED] = { "waited for ", " to end", MEMBER },
    [MENTION_REPLACED] = { "replaced by ", "", NUMBER },
    [MENTION_HELD] = { ": ", " is suspended", NUMBER },
    [MENTION_ELSEWHERE] = { ", and ", " names others", NUMBER },
};

/* ---- writing ---- */

static void put_job(char out[160], enum form form, const struct job_row *row)
{
    unsigned long long number = row->number;
    if (form == NUMBER)
        snprintf(out, 160, "job %llu", number);
    else if (form == NAME)
        snprintf(out, 160, "job %llu (%.80s)", number, row->name);
    else if (row->array)
        snprintf(out, 160, "%llu[%u] (%.100s)", (unsigned long long)array_number(row), row->index,
                 row->name);
    else
        snprintf(out, 160, "%s %llu (%.100s)", row->members ? "array" : "job", number, row->name);
}

const char *mention_say(char out[MENTION_MAX], enum mention mention, const struct job_row *row)
{
    const struct sentence *s = &sentences[mention];
    char job[160];
    put_job(job, s->form, row);
    snprintf(out, MENTION_MAX, "%s%s%s", s->before, job, s->after);
    return out;
}

/* ---- who is told ---- */

struct reader reader_of(struct ctl *ctl, struct arena *arena, const char *name)
{
    return (struct reader){
        .ctl = ctl, .arena = arena, .name = name, .all = !name || core_admin(ctl, name)
    };
}

bool reader_may(const struct reader *reader, const struct job_row *row)
{
    return reader->all || core_reads(reader->ctl, reader->name, row);
}

/* What is in no record any more may have been anybody's. */
static const char *look_up(struct reader *reader, uint64_t number)
{
    struct arena *arena = arena_create();
    struct job_row row;
    uint64_t id;
    const char *called = "a job that is gone";
    if (store_find_number(reader->ctl->config.store, number, &id) == 1 &&
        core_row(reader->ctl, arena, id, &row) == 0)
        called = reader_may(reader, &row) ? NULL : MENTION_HIDDEN;
    arena_destroy(arena);
    return called;
}

const char *reader_hides(struct reader *reader, uint64_t number)
{
    if (reader->all)
        return NULL;
    if (reader->number != number)
        reader->called = look_up(reader, number);
    reader->number = number;
    return reader->called;
}

/* ---- reading ---- */

static const char *skip(const char *at, const char *word)
{
    size_t len = strlen(word);
    return strncmp(at, word, len) == 0 ? at + len : at;
}

/* "job 12", "array 12", "12[3]": what follows; NULL: it is none of them. */
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

static const char *without(struct reader *reader, const char *text, const struct sentence *s)
{
    for (const char *at = strstr(text, s->before); at; at = strstr(at + 1, s->before)) {
        const char *job = at + strlen(s->before);
        uint64_t number = 0;
        const char *rest = read_number(job, &number);
        rest = rest ? skip_name(rest, s->after) : NULL;
        const char *called = rest ? reader_hides(reader, number) : NULL;
        if (called)
            return arena_printf(reader->arena, "%.*s%s%s", (int)(job - text), text, called, rest);
    }
    return text;
}

const char *reader_text(struct reader *reader, const char *text)
{
    if (!text || reader->all)
        return text;
    for (size_t i = 0; i < ARRAY_LEN(sentences); i++)
        text = without(reader, text, &sentences[i]);
    return text;
}
