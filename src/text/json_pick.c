/* Some members of a map in a JSON text, found without reading the rest: what a list shows of a
 * document is a small part of it. What lies between is only counted (quotes, brackets), so this is
 * for texts that json_parse has accepted; of any other text it stays inside. */
#include "text/json.h"

#include "base/err.h"

#include <string.h>

struct scan {
    const char *p, *end;
};

static char skip_blanks(struct scan *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
        s->p++;
    return s->p < s->end ? *s->p : '\0';
}

/* From behind the opening quote to behind the closing one. */
static bool skip_string(struct scan *s)
{
    for (; s->p < s->end; s->p++) {
        if (*s->p == '"') {
            s->p++;
            return true;
        }
        s->p += *s->p == '\\';
    }
    s->p = s->end;
    return false;
}

/* To behind a text, a map or a list, or to what ends a number or a word. A comment is not known. */
static bool skip_value(struct scan *s)
{
    unsigned depth = 0;
    while (s->p < s->end) {
        switch (*s->p) {
        case '"':
            s->p++;
            if (!skip_string(s))
                return false;
            break;
        case '{':
        case '[':
            depth++;
            s->p++;
            break;
        case '}':
        case ']':
            if (depth == 0)
                return true;
            depth--;
            s->p++;
            break;
        case ',':
            if (depth == 0)
                return true;
            s->p++;
            continue;
        case '/': return false;
        default: s->p++; continue;
        }
        if (depth == 0)
            return true;
    }
    return false;
}

/* A key with an escape may be any name. */
static bool take_key(struct scan *s, struct json_span *key)
{
    if (skip_blanks(s) != '"')
        return false;
    key->at = ++s->p;
    if (!skip_string(s))
        return false;
    key->n = (size_t)(s->p - 1 - key->at);
    if (memchr(key->at, '\\', key->n) || skip_blanks(s) != ':')
        return false;
    s->p++;
    skip_blanks(s);
    return true;
}

static size_t place_of(const struct json_span *key, const char *const *names)
{
    size_t i = 0;
    while (names[i] && (strlen(names[i]) != key->n || memcmp(names[i], key->at, key->n) != 0))
        i++;
    return i;
}

bool json_find(const struct json_span *text, const char *const *names, struct json_span *out)
{
    struct scan s = { text->at, text->at + text->n };
    size_t left = 0;
    while (names[left])
        out[left++] = (struct json_span){ NULL, 0 };
    if (skip_blanks(&s) != '{')
        return false;
    s.p++;
    while (left && skip_blanks(&s) != '}') {
        struct json_span key;
        if (!take_key(&s, &key))
            return false;
        const char *value = s.p;
        if (!skip_value(&s))
            return false;
        size_t i = place_of(&key, names);
        if (names[i] && !out[i].at) {
            out[i] = (struct json_span){ value, (size_t)(s.p - value) };
            left--;
        }
        char next = skip_blanks(&s);
        if (next != ',' && next != '}')
            return false;
        s.p += next == ',';
    }
    return true;
}

struct text_node *json_pick(struct arena *arena, const struct json_span *text,
                            const char *const *names)
{
    struct json_span found[JSON_PICK_MAX];
    struct report report;
    size_t n = 0;
    while (names[n])
        n++;
    if (n > JSON_PICK_MAX)
        BUG("%zu members are too many", n);
    if (!json_find(text, names, found))
        return NULL;
    report_init(&report, arena);
    struct text_node *map = text_map(arena, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        if (!found[i].at)
            continue;
        const struct text_node *value = json_parse(arena, found[i].at, found[i].n, 0, &report);
        if (!value || !report_ok(&report))
            return NULL;
        text_share(arena, map, names[i], value);
    }
    return map;
}
