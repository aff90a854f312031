/* YAML by the events of libyaml into the tree, with the core schema of YAML 1.2. libyaml counts
 * characters; places are counted here, forward from the last one, so that all is linear. Anchors
 * are remembered as nodes and aliases copied, each copy counted against TEXT_MAX_NODES, so that a
 * small text cannot become a large tree. The first error of syntax ends the parse. */
#include "text/yaml.h"

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "text/keys.h"
#include "text/source.h"
#include "text/yaml_help.h"

#include <string.h>
#include <yaml.h>

struct nodes {
    struct text_node **at;
    size_t n, cap;
};

/* A position as libyaml counts it (characters) and as we do. */
struct cursor {
    size_t chars, offset;
    uint32_t line, col;
};

struct parse {
    yaml_parser_t parser;
    const char *src;
    size_t len;
    struct arena *arena;
    struct report *report;
    struct string_map *anchors;             /* name -> node */
    struct text_node *open[TEXT_MAX_DEPTH]; /* containers around */
    size_t depth, nodes;
    size_t mark; /* bytes of a byte order mark at the front, which libyaml is not given */
    bool duplicates;
    struct cursor at; /* where the last place began */
};

static struct cursor origin(const struct parse *s)
{
    return (struct cursor){ .offset = s->mark, .line = 1, .col = 1 };
}

static void advance(const struct parse *s, struct cursor *c, size_t chars)
{
    while (c->chars < chars && c->offset < s->len) {
        bool newline = s->src[c->offset++] == '\n';
        while (c->offset < s->len && ((unsigned char)s->src[c->offset] & 0xc0) == 0x80)
            c->offset++;
        c->chars++;
        c->col = newline ? 1 : c->col + 1;
        c->line += newline;
    }
}

/* Events begin in order, though one may begin before the end of the one before (a map begins with
 * its first key): counting goes on from the last beginning. */
static struct place place_at(struct parse *s, size_t from, size_t to)
{
    if (from < s->at.chars) /* does not happen with the events we know; stay right if it does */
        s->at = origin(s);
    advance(s, &s->at, from);
    struct cursor end = s->at;
    advance(s, &end, to);
    return (struct place){ .line = s->at.line,
                           .col = s->at.col,
                           .offset = (uint32_t)s->at.offset,
                           .len = (uint32_t)(end.offset - s->at.offset) };
}

/* Of a scalar all of it, of a container its first character. */
static struct place event_place(struct parse *s, const yaml_event_t *e)
{
    size_t from = e->start_mark.index;
    bool whole = e->type == YAML_SCALAR_EVENT || e->type == YAML_ALIAS_EVENT;
    return place_at(s, from, whole ? e->end_mark.index : from + 1);
}

static struct problem *fail(struct parse *s, const yaml_event_t *e, const char *what)
{
    return report_error(s->report, event_place(s, e), "", "%s", what);
}

static bool next(struct parse *s, yaml_event_t *e)
{
    if (yaml_parser_parse(&s->parser, e))
        return true;
    size_t at = s->parser.problem_mark.index, context = s->parser.context_mark.index;
    if (s->parser.error == YAML_READER_ERROR) /* a byte offset then */
        at = source_chars(s->src + s->mark, s->parser.problem_offset);
    struct yaml_fault fault = { .problem = s->parser.problem,
                                .context = s->parser.context,
                                .reader = s->parser.error == YAML_READER_ERROR };
    if (s->parser.context)
        fault.context_place = place_at(s, context < at ? context : at, 0);
    fault.place = place_at(s, at, 0);
    yaml_explain(s->src, s->len, &fault, s->report);
    return false;
}

static bool count_node(struct parse *s, const yaml_event_t *e)
{
    if (++s->nodes <= TEXT_MAX_NODES)
        return true;
    struct problem *p = report_error(s->report, event_place(s, e), "",
                                     "the text has more than %u values", TEXT_MAX_NODES);
    if (e->type == YAML_ALIAS_EVENT)
        report_hint(s->report, p, "its aliases (*name) multiply it; write fewer");
    return false;
}

/* Core schema, for a text that is plain or has a tag of the schema. */
static void resolve(struct text_node *n)
{
    switch (yaml_scalar_kind(n->str)) {
    case TEXT_NULL:
        n->kind = TEXT_NULL;
        n->str = NULL;
        break;
    case TEXT_BOOL:
        n->kind = TEXT_BOOL;
        n->boolean = n->str[0] == 't' || n->str[0] == 'T';
        break;
    case TEXT_INT:
        if (scan_i64(n->str + (n->str[0] == '+'), INT64_MIN, INT64_MAX, &n->integer)) {
            n->kind = TEXT_INT;
            break;
        }
        n->kind = TEXT_REAL;
        n->real = strtod(n->str, NULL);
        break;
    case TEXT_REAL:
        n->kind = TEXT_REAL;
        n->real = strtod(n->str, NULL);
        break;
    default: break;
    }
}

struct tag {
    const char *tag;
    enum text_kind kind;
};

static const struct tag tags[] = {
    { .tag = "!", .kind = TEXT_STR },
    { .tag = YAML_STR_TAG, .kind = TEXT_STR },
    { .tag = YAML_INT_TAG, .kind = TEXT_INT },
    { .tag = YAML_FLOAT_TAG, .kind = TEXT_REAL },
    { .tag = YAML_BOOL_TAG, .kind = TEXT_BOOL },
    { .tag = YAML_NULL_TAG, .kind = TEXT_NULL },
    { .tag = YAML_SEQ_TAG, .kind = TEXT_LIST },
    { .tag = YAML_MAP_TAG, .kind = TEXT_MAP },
};

/* True when node may carry the tag; *resolves: its text is to be resolved because of it. */
static bool check_tag(struct parse *s, const yaml_event_t *e, const char *tag,
                      struct text_node *node)
{
    for (size_t i = 0; tag && i < ARRAY_LEN(tags); i++) {
        if (strcmp(tags[i].tag, tag) != 0)
            continue;
        enum text_kind want = tags[i].kind;
        if (node->kind == TEXT_STR && want != TEXT_STR)
            resolve(node);
        if (want == TEXT_REAL && node->kind == TEXT_INT) {
            node->kind = TEXT_REAL;
            node->real = (double)node->integer;
        }
        if (node->kind == want || (want == TEXT_STR && i == 0))
            return true;
        report_error(s->report, event_place(s, e), "", "this is %s, its tag wants %s",
                     text_kind_word(node->kind), text_kind_word(want));
        return false;
    }
    if (!tag)
        return true;
    report_hint(s->report,
                report_error(s->report, event_place(s, e), "", "tag %s is not known here", tag),
                "leave it out");
    return false;
}

static const char *anchor_of(const yaml_event_t *e)
{
    const yaml_char_t *name = NULL;
    if (e->type == YAML_SCALAR_EVENT)
        name = e->data.scalar.anchor;
    else if (e->type == YAML_SEQUENCE_START_EVENT)
        name = e->data.sequence_start.anchor;
    else if (e->type == YAML_MAPPING_START_EVENT)
        name = e->data.mapping_start.anchor;
    return (const char *)name;
}

static const char *tag_of(const yaml_event_t *e)
{
    const yaml_char_t *tag = NULL;
    if (e->type == YAML_SCALAR_EVENT)
        tag = e->data.scalar.tag;
    else if (e->type == YAML_SEQUENCE_START_EVENT)
        tag = e->data.sequence_start.tag;
    else if (e->type == YAML_MAPPING_START_EVENT)
        tag = e->data.mapping_start.tag;
    return (const char *)tag;
}

static void append(struct text_node *parent, struct text_node *child)
{
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

static struct text_node *take_node(struct parse *s, const yaml_event_t *e);

/* A copy that is counted, and not deeper than what may stand here. */
static struct text_node *expand(struct parse *s, const yaml_event_t *e,
                                const struct text_node *from, size_t depth)
{
    bool container = from->kind == TEXT_LIST || from->kind == TEXT_MAP;
    if (depth >= TEXT_MAX_DEPTH && container) {
        fail(s, e, "with this alias lists and maps are too deep in each other");
        return NULL;
    }
    if (!count_node(s, e))
        return NULL;
    struct text_node *n = ARENA_NEW(s->arena, struct text_node);
    *n = *from; /* the texts may be shared: trees are not changed in place */
    n->first = n->last = n->next = NULL;
    n->count = 0;
    for (const struct text_node *c = from->first; c; c = c->next) {
        struct text_node *copy = expand(s, e, c, depth + 1);
        if (!copy)
            return NULL;
        append(n, copy);
    }
    return n;
}

/* What an alias stands for; NULL: reported. */
static const struct text_node *aliased(struct parse *s, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    const struct text_node *node = string_map_get(s->anchors, name);
    if (!node) {
        struct problem *p =
            report_error(s->report, event_place(s, e), "", "*%s is not defined above", name);
        report_hint(s->report, p, "mark the value that is meant with &%s", name);
        return NULL;
    }
    for (size_t i = 0; i < s->depth; i++)
        if (s->open[i] == node) {
            report_error(s->report, event_place(s, e), "", "*%s contains itself", name);
            return NULL;
        }
    return node;
}

static struct text_node *take_scalar(struct parse *s, const yaml_event_t *e)
{
    const char *value = (const char *)e->data.scalar.value;
    if (memchr(value, '\0', e->data.scalar.length)) {
        fail(s, e, "a NUL cannot be part of a text");
        return NULL;
    }
    struct text_node *n = ARENA_NEW(s->arena, struct text_node);
    n->kind = TEXT_STR;
    n->str = arena_strndup(s->arena, value, e->data.scalar.length);
    n->place = event_place(s, e);
    n->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const char *tag = tag_of(e);
    if (n->plain && !tag)
        resolve(n);
    return check_tag(s, e, tag, n) ? n : NULL;
}

static bool take_items(struct parse *s, struct text_node *list)
{
    for (;;) {
        yaml_event_t e;
        if (!next(s, &e))
            return false;
        bool end = e.type == YAML_SEQUENCE_END_EVENT;
        struct text_node *child = end ? NULL : take_node(s, &e);
        yaml_event_delete(&e);
        if (!child)
            return end;
        append(list, child);
    }
}

/* Keys are texts: 8080 as a key is "8080". */
static bool take_key(struct parse *s, const yaml_event_t *e, const char **key, struct place *place)
{
    const struct text_node *n = NULL;
    *place = event_place(s, e);
    if (e->type == YAML_ALIAS_EVENT)
        n = aliased(s, e);
    else if (e->type == YAML_SCALAR_EVENT)
        n = take_node(s, e);
    else
        report_hint(s->report, fail(s, e, "a key has to be a text"), "quote it");
    if (!n)
        return false;
    if (n->kind == TEXT_LIST || n->kind == TEXT_MAP) {
        fail(s, e, "a key has to be a text");
        return false;
    }
    *key = n->str;
    if (!n->str) /* null: as written */
        *key = arena_strndup(s->arena, s->src + n->place.offset, n->place.len);
    return true;
}

static struct text_node *take_member(struct parse *s, const yaml_event_t *key_event)
{
    const char *key;
    struct place place;
    yaml_event_t e;
    if (!take_key(s, key_event, &key, &place) || !next(s, &e))
        return NULL;
    struct text_node *child = take_node(s, &e);
    yaml_event_delete(&e);
    if (child) {
        child->key = key;
        child->key_place = place;
    }
    return child;
}

static bool take_members(struct parse *s, struct text_node *map, struct keys *keys)
{
    for (;;) {
        yaml_event_t e;
        if (!next(s, &e))
            return false;
        bool end = e.type == YAML_MAPPING_END_EVENT;
        struct text_node *child = end ? NULL : take_member(s, &e);
        yaml_event_delete(&e);
        if (!child)
            return end;
        const struct text_node *first = keys_claim(keys, map, child);
        if (!first) {
            append(map, child);
            continue;
        }
        s->duplicates = true;
        struct problem *p =
            report_error(s->report, child->key_place, "", "\"%s\" is there twice, first in line %u",
                         child->key, first->key_place.line);
        report_hint(s->report, p, "remove one of them");
    }
}

static struct text_node *take_container(struct parse *s, const yaml_event_t *e)
{
    if (s->depth == TEXT_MAX_DEPTH) {
        struct problem *p =
            report_error(s->report, event_place(s, e), "",
                         "lists and maps are more than %d deep in each other", TEXT_MAX_DEPTH);
        report_hint(s->report, p, "no job needs that; is this the right file?");
        return NULL;
    }
    struct text_node *n = ARENA_NEW(s->arena, struct text_node);
    n->kind = e->type == YAML_MAPPING_START_EVENT ? TEXT_MAP : TEXT_LIST;
    n->place = event_place(s, e);
    if (!check_tag(s, e, tag_of(e), n))
        return NULL;
    if (anchor_of(e))
        string_map_set(s->anchors, anchor_of(e), n);
    s->open[s->depth++] = n;
    bool ok;
    if (n->kind == TEXT_MAP) {
        struct keys keys = { .by_key = { .room = 0 } };
        ok = take_members(s, n, &keys);
        keys_fini(&keys);
    } else {
        ok = take_items(s, n);
    }
    s->depth--;
    return ok ? n : NULL;
}

static struct text_node *take_node(struct parse *s, const yaml_event_t *e)
{
    if (e->type == YAML_ALIAS_EVENT) {
        const struct text_node *from = aliased(s, e);
        struct text_node *copy = from ? expand(s, e, from, s->depth) : NULL;
        if (copy)
            copy->key = NULL; /* the anchored node may have been a member */
        return copy;
    }
    if (!count_node(s, e))
        return NULL;
    if (e->type != YAML_SCALAR_EVENT)
        return take_container(s, e);
    struct text_node *n = take_scalar(s, e);
    if (n && anchor_of(e))
        string_map_set(s->anchors, anchor_of(e), n);
    return n;
}

/* Anchors end with their document. */
static void forget_anchors(struct parse *s)
{
    string_map_destroy(s->anchors);
    s->anchors = string_map_create();
}

static bool take_documents(struct parse *s, struct nodes *docs, size_t most)
{
    for (;;) {
        yaml_event_t e;
        if (!next(s, &e))
            return false;
        yaml_event_type_t type = e.type;
        bool many = type == YAML_DOCUMENT_START_EVENT && docs->n == most;
        if (many)
            report_hint(s->report, fail(s, &e, "a second document begins here"),
                        "one job in one text");
        yaml_event_delete(&e);
        if (many || type == YAML_STREAM_END_EVENT)
            return !many;
        if (type != YAML_DOCUMENT_START_EVENT)
            continue;
        forget_anchors(s);
        if (!next(s, &e))
            return false;
        struct text_node *doc = take_node(s, &e);
        yaml_event_delete(&e);
        if (!doc)
            return false;
        vec_push(docs, doc);
    }
}

/* Several errors of a text that lost its indentation are one. */
static void judge(struct parse *s, const struct report *before, bool broken)
{
    struct place place;
    if ((broken || s->duplicates) && yaml_lost_indentation(s->src, s->len, &place)) {
        struct report *r = s->report;
        r->n = before->n;
        r->errors = before->errors;
        r->warnings = before->warnings;
        struct problem *p = report_error(r, place, "",
                                         "the indentation of this YAML is lost: no line begins "
                                         "with spaces, and this one opens a block");
        report_hint(r, p, "copy the text again with the spaces at the beginning of its lines");
    }
}

static int parse(struct parse *s, struct nodes *docs, size_t most)
{
    struct report before = *s->report;
    if (!yaml_parser_initialize(&s->parser))
        BUG("out of memory in libyaml");
    yaml_parser_set_input_string(&s->parser, (const unsigned char *)s->src + s->mark,
                                 s->len - s->mark);
    yaml_parser_set_encoding(&s->parser, YAML_UTF8_ENCODING);
    s->anchors = string_map_create();
    bool ok = take_documents(s, docs, most);
    string_map_destroy(s->anchors);
    yaml_parser_delete(&s->parser);
    judge(s, &before, !ok);
    return ok ? 0 : -1;
}

static struct parse begin(struct arena *arena, const char *src, size_t len, struct report *report)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t n = sizeof mark - 1;
    struct parse s = { .src = src, .len = len, .arena = arena, .report = report };
    s.mark = len >= n && memcmp(src, mark, n) == 0 ? n : 0;
    s.at = origin(&s);
    return s;
}

static bool is_empty(const struct text_node *doc)
{
    return doc->kind == TEXT_NULL && doc->place.len == 0;
}

static int nothing(struct report *report)
{
    struct problem *p =
        report_error(report, (struct place){ .line = 0 }, "", "the text has nothing but comments");
    report_hint(report, p, "give a job in JSON or YAML");
    return -1;
}

struct text_node *yaml_parse(struct arena *arena, const char *src, size_t len,
                             struct report *report)
{
    if (!source_check(src, len, TEXT_MAX_BYTES, report))
        return NULL;
    struct parse s = begin(arena, src, len, report);
    struct nodes docs = { .n = 0 };
    struct text_node *doc = NULL;
    if (parse(&s, &docs, 1) == 0) {
        if (docs.n == 0 || is_empty(docs.at[0]))
            nothing(report);
        else
            doc = docs.at[0];
    }
    vec_fini(&docs);
    return doc;
}

int yaml_parse_all(struct arena *arena, const char *src, size_t len, struct text_node ***docs,
                   size_t *n, struct report *report)
{
    if (!source_check(src, len, TEXT_MAX_BYTES, report))
        return -1;
    struct parse s = begin(arena, src, len, report);
    struct nodes all = { .n = 0 };
    int rc = parse(&s, &all, SIZE_MAX);
    size_t kept = 0;
    for (size_t i = 0; i < all.n; i++)
        if (!is_empty(all.at[i]))
            all.at[kept++] = all.at[i];
    if (rc == 0 && kept == 0)
        rc = nothing(report);
    if (rc == 0) {
        *docs = ARENA_ARRAY(arena, kept, struct text_node *);
        memcpy(*docs, all.at, kept * sizeof **docs);
        *n = kept;
    }
    vec_fini(&all);
    return rc;
}
