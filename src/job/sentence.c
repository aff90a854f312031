/* Sentences that name at most one other job: made, told, and packed for records.
 *
 * Inputs: texts and a job's number. Effects: none; what is told to whom, the caller decides. A name
 * stands in place of HIDDEN_JOB at a known place, so nothing is ever searched in a text. */
#include "job/sentence.h"

#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PACKED_MAX 2048

const char *sentence_with(struct arena *arena, const struct sentence *s, const char *called)
{
    const struct named_job *n = &s->named;
    if (!s->text || !n->number)
        return s->text;
    return arena_printf(arena, "%.*s%s%s", (int)n->at, s->text, called ? called : n->called,
                        s->text + n->at + n->len);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool sentence_same(const struct sentence *a, const struct sentence *b)
{
    return same_text(a->text, b->text) && a->named.number == b->named.number &&
           same_text(a->named.called, b->named.called);
}

struct sentence sentence_copy(struct arena *arena, const struct sentence *s)
{
    struct sentence copy = *s;
    copy.text = arena_strdup(arena, s->text);
    copy.named.called = arena_strdup(arena, s->named.called);
    return copy;
}

/* ---- making ---- */

void draft_init(struct draft *d)
{
    d->text[0] = d->called[0] = '\0';
    d->number = 0;
    d->len = d->at = 0;
}

void draft_add(struct draft *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(d->text + d->len, sizeof d->text - d->len, fmt, ap);
    va_end(ap);
    size_t room = sizeof d->text - 1 - d->len;
    d->len += n < 0 ? 0 : (uint32_t)((size_t)n < room ? (size_t)n : room);
}

void draft_name(struct draft *d, uint64_t number, const char *called)
{
    bool fits = d->len + sizeof HIDDEN_JOB <= sizeof d->text;
    if (fits && !d->number && number) {
        d->number = number;
        d->at = d->len;
        snprintf(d->called, sizeof d->called, "%s", called);
    }
    draft_add(d, "%s", HIDDEN_JOB);
}

void draft_sentence(struct draft *d, const struct sentence *s)
{
    const struct named_job *n = &s->named;
    if (!n->number) {
        draft_add(d, "%s", s->text ? s->text : "");
        return;
    }
    draft_add(d, "%.*s", (int)n->at, s->text);
    draft_name(d, n->number, n->called);
    draft_add(d, "%s", s->text + n->at + n->len);
}

struct sentence draft_said(const struct draft *d)
{
    struct sentence said = { .text = d->text };
    if (d->number)
        said.named = (struct named_job){
            .number = d->number, .called = d->called, .at = d->at, .len = sizeof HIDDEN_JOB - 1
        };
    return said;
}

/* ---- in records ---- */

char *named_job_pack(const struct named_job *named)
{
    AUTO_BUF struct buf out = BUF_INIT(PACKED_MAX);
    if (!named->number)
        return mem_strdup("");
    struct arena *arena = arena_create();
    struct text_node *map = text_map(arena, NULL, NULL);
    text_int(arena, map, "job", (int64_t)named->number);
    text_int(arena, map, "at", named->at);
    text_int(arena, map, "len", named->len);
    text_str(arena, map, "called", named->called);
    json_print(map, 0, &out);
    arena_destroy(arena);
    return buf_take(&out);
}

static uint64_t number_of(const struct text_node *map, const char *key, uint64_t most)
{
    const struct text_node *node = text_get(map, key);
    bool good = node && node->kind == TEXT_INT && node->integer >= 0;
    return good && (uint64_t)node->integer <= most ? (uint64_t)node->integer : UINT64_MAX;
}

struct named_job named_job_unpack(struct arena *arena, const char *text, const char *packed)
{
    struct named_job none = { .number = 0 };
    struct report report;
    if (!text || !packed || !*packed)
        return none;
    report_init(&report, arena);
    const struct text_node *map = json_parse(arena, packed, strlen(packed), 0, &report);
    const struct text_node *called = map ? text_get(map, "called") : NULL;
    if (!called || called->kind != TEXT_STR)
        return none;
    uint64_t most = strlen(text), number = number_of(map, "job", INT64_MAX),
             at = number_of(map, "at", most);
    uint64_t len = at > most ? UINT64_MAX : number_of(map, "len", most - at);
    if (number == UINT64_MAX || len == UINT64_MAX)
        return none;
    return (struct named_job){
        .number = number, .called = called->str, .at = (uint32_t)at, .len = (uint32_t)len
    };
}
