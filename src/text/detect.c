/* JSON, a parameter file, a batch script or YAML? By the first character that is neither space nor
 * comment; a job file always has a map, so "{" is JSON, and `key=` begins no map of YAML. A script
 * is known by its first line and by a line of options. */
#include "text/detect.h"

#include "text/json.h"
#include "text/keyvalue.h"
#include "text/source.h"
#include "text/yaml.h"

#include <string.h>

/* Behind white space and comments as JSON has them here; YAML's "#" is no JSON and stops it. */
static const char *skip_start(const char *p, const char *end)
{
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end) {
        bool line = end - p > 1 && p[0] == '/' && p[1] == '/';
        bool block = end - p > 1 && p[0] == '/' && p[1] == '*';
        const char *next = NULL;
        if (line)
            next = memchr(p, '\n', (size_t)(end - p));
        else if (block)
            next = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
        else if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
            next = p;
        else
            break;
        if (!next) /* a comment without end: its parser says so */
            return block ? p : end;
        p = next + (block ? 2 : 1);
    }
    return p;
}

#define DIRECTIVE "#SBATCH"

/* What a batch system refuses (a byte order mark, blank lines in front) still makes it a script:
 * its reader says what is wrong. */
bool script_like(const char *src, size_t len)
{
    const char *end = src + len, *at = len ? skip_start(src, end) : src;
    if (end - at < 2 || (memcmp(at, "#!", 2) != 0 && *at != '#'))
        return false;
    bool bang = at[1] == '!';
    for (const char *line = at; line; line = memchr(line, '\n', (size_t)(end - line))) {
        line += *line == '\n';
        size_t left = (size_t)(end - line), n = sizeof DIRECTIVE - 1;
        if (left >= n && memcmp(line, DIRECTIVE, n) == 0)
            return bang || line == at;
    }
    return false;
}

struct text_node *script_parse(struct arena *arena, const char *src, size_t len,
                               struct report *report)
{
    if (!source_check(src, len, TEXT_MAX_BYTES, report))
        return NULL;
    struct text_node *node = text_str(arena, NULL, NULL, arena_strndup(arena, src, len));
    node->script = true;
    node->place = (struct place){ .line = 1, .col = 1, .len = (uint32_t)len };
    return node;
}

enum syntax { SYNTAX_JSON, SYNTAX_KEYVALUE, SYNTAX_SCRIPT, SYNTAX_YAML };

static enum syntax syntax_of(const char *src, size_t len)
{
    const char *first = len ? skip_start(src, src + len) : src;
    if (first < src + len && (*first == '{' || *first == '[' || *first == '/'))
        return SYNTAX_JSON;
    if (script_like(src, len))
        return SYNTAX_SCRIPT;
    return keyvalue_like(src, len) ? SYNTAX_KEYVALUE : SYNTAX_YAML;
}

struct text_node *text_parse(struct arena *arena, const char *src, size_t len,
                             struct report *report)
{
    switch (syntax_of(src, len)) {
    case SYNTAX_JSON: return json_parse(arena, src, len, JSON_COMMENTS, report);
    case SYNTAX_KEYVALUE: return keyvalue_parse(arena, src, len, report);
    case SYNTAX_SCRIPT: return script_parse(arena, src, len, report);
    case SYNTAX_YAML: break;
    }
    return yaml_parse(arena, src, len, report);
}

/* A list whose members are the documents themselves, with their places. */
static struct text_node *as_list(struct arena *arena, struct text_node **docs, size_t n)
{
    struct text_node *list = text_list(arena, NULL, NULL);
    list->place = docs[0]->place;
    for (size_t i = 0; i < n; i++) {
        if (list->last)
            list->last->next = docs[i];
        else
            list->first = docs[i];
        list->last = docs[i];
    }
    list->count = n;
    return list;
}

struct text_node *text_parse_documents(struct arena *arena, const char *src, size_t len,
                                       size_t *documents, struct report *report)
{
    struct text_node **docs = NULL;
    *documents = 1;
    if (syntax_of(src, len) != SYNTAX_YAML)
        return text_parse(arena, src, len, report);
    if (yaml_parse_all(arena, src, len, &docs, documents, report) != 0)
        return NULL;
    return *documents == 1 ? docs[0] : as_list(arena, docs, *documents);
}
