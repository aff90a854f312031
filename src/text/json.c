/* JSON, optionally with comments and trailing commas, into the tree: recursive descent (the depth
 * is bounded) over a text that is known to be UTF-8. Each node and its texts are one allocation;
 * columns are counted forward from the last place asked for, so that all is linear. The first error
 * of syntax ends the parse; duplicate keys do not. */
#include "text/json.h"

#include "base/mem.h"
#include "base/scan.h"
#include "text/keys.h"
#include "text/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOW_BITS  0x0101010101010101u
#define HIGH_BITS 0x8080808080808080u

/* What peek() gives besides a byte. */
#define END    (-1)
#define BROKEN (-2) /* reported */

struct parse {
    const char *src, *p, *end;
    struct arena *arena;
    struct report *report;
    unsigned flags, depth;
    size_t nodes;
    uint32_t line;    /* of mark */
    uint32_t col;     /* of mark */
    const char *mark; /* the last place that was counted */
};

/* A string between its quotes, as it stands in the source. */
struct span {
    const char *at;
    size_t n;
    bool escaped; /* has a backslash */
};

/* The key of a member, and where; at is NULL in lists and at the root. */
struct key {
    struct span text;
    struct place place;
};

/* Place of a node; at never goes back. */
static struct place here(struct parse *s, const char *at, size_t n)
{
    s->col += (uint32_t)source_chars(s->mark, (size_t)(at - s->mark));
    s->mark = at;
    return (struct place){
        .line = s->line, .col = s->col, .len = (uint32_t)n, .offset = (uint32_t)(at - s->src)
    };
}

static struct place place_of(const struct parse *s, const char *at, size_t n)
{
    return source_place(s->src, (size_t)(at - s->src), n);
}

__attribute__((format(printf, 4, 5))) static struct problem *fail(struct parse *s, const char *at,
                                                                  size_t n, const char *fmt, ...)
{
    char what[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return report_error(s->report, place_of(s, at, n), "", "%s", what);
}

static void new_line(struct parse *s, const char *newline)
{
    s->line++;
    s->col = 1;
    s->mark = newline + 1;
}

static bool skip_comment(struct parse *s)
{
    const char *start = s->p;
    size_t left = (size_t)(s->end - start);
    char kind = left > 1 ? start[1] : '\0';
    if (kind != '/' && kind != '*') {
        fail(s, start, 1, "\"/\" does not fit here");
        return false;
    }
    if (!(s->flags & JSON_COMMENTS)) {
        report_hint(s->report, fail(s, start, 2, "comments are not allowed here"), "remove it");
        return false;
    }
    if (kind == '/') {
        const char *newline = memchr(start, '\n', left);
        s->p = newline ? newline : s->end;
        return true;
    }
    const char *close = memmem(start + 2, left - 2, "*/", 2);
    if (!close) {
        report_hint(s->report, fail(s, start, 2, "this comment never ends"), "end it with */");
        return false;
    }
    for (s->p = start; (s->p = memchr(s->p, '\n', (size_t)(close - s->p))); s->p++)
        new_line(s, s->p);
    s->p = close + 2;
    return true;
}

/* Skips white space and comments. The next byte, END or BROKEN. */
static int peek(struct parse *s)
{
    while (s->p < s->end) {
        switch (*s->p) {
        case '\n':
            new_line(s, s->p);
            s->p++;
            break;
        case ' ':
        case '\t':
        case '\r': s->p++; break;
        case '/':
            if (!skip_comment(s))
                return BROKEN;
            break;
        default: return (unsigned char)*s->p;
        }
    }
    return END;
}

/* The bit 7 of each byte of w that is c. Bytes after the first hit may be wrong. */
static uint64_t bytes_equal(uint64_t w, unsigned char c)
{
    w ^= LOW_BITS * c;
    return (w - LOW_BITS) & ~w & HIGH_BITS;
}

/* First quote, backslash or control character from p on. */
static const char *plain_end(const char *p, const char *end)
{
    uint64_t w;
    for (; p + sizeof w <= end; p += sizeof w) {
        memcpy(&w, p, sizeof w);
        uint64_t hit =
            bytes_equal(w, '"') | bytes_equal(w, '\\') | ((w - LOW_BITS * 0x20) & ~w & HIGH_BITS);
        if (hit)
            return p + (__builtin_ctzll(hit) >> 3);
    }
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    return p;
}

static bool bad_string_end(struct parse *s, const char *open, const char *at)
{
    struct problem *p;
    if (at >= s->end || *at == '\n' || *at == '\r') {
        size_t n = (size_t)(at - open);
        p = fail(s, open, n, "a text that begins here has no closing quote on its line");
        report_hint(s->report, p, "close it with \" (a line break inside is written \\n)");
    } else {
        p = fail(s, at, 1, "control character 0x%02x in a text", (unsigned char)*at);
        report_hint(s->report, p, *at == '\t' ? "write \\t" : "write \\u%04x", (unsigned char)*at);
    }
    return false;
}

/* s->p at the opening quote. Goes behind the closing one. */
static bool take_string(struct parse *s, struct span *out)
{
    const char *open = s->p, *p = open + 1;
    *out = (struct span){ .at = p };
    while ((p = plain_end(p, s->end)) < s->end && *p == '\\') {
        out->escaped = true;
        p += p + 1 < s->end ? 2 : 1;
    }
    if (p >= s->end || *p != '"')
        return bad_string_end(s, open, p);
    out->n = (size_t)(p - out->at);
    s->p = p + 1;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits at p, inside a string that goes to end; -1 when they are not. */
static int32_t take_hex4(const char *p, const char *end)
{
    int32_t v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(p[i]);
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* The character of \uXXXX (or of a pair of them) at *p, which goes behind it. 0: reported. */
static uint32_t take_unicode(struct parse *s, const char **p, const char *end)
{
    const char *at = *p;
    int32_t high = take_hex4(at + 2, end), low;
    if (high < 0) {
        fail(s, at, 2, "\\u wants four hexadecimal digits");
        return 0;
    }
    *p += 6;
    if (high == 0) {
        report_hint(s->report, fail(s, at, 6, "\\u0000 (NUL) cannot be part of a text"),
                    "remove it");
        return 0;
    }
    if (high < 0xd800 || high > 0xdfff)
        return (uint32_t)high;
    low = end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u' ? take_hex4(*p + 2, end) : -1;
    if (high > 0xdbff || low < 0xdc00 || low > 0xdfff) {
        fail(s, at, 6, "%.6s is half of a character (a lone surrogate)", at);
        return 0;
    }
    *p += 6;
    return 0x10000u + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

/* Writes the text of a span with escapes and a NUL; out has in->n + 1 bytes. */
static bool unescape(struct parse *s, const struct span *in, char *out)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *p = in->at, *end = in->at + in->n;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t n = (size_t)((slash ? slash : end) - p);
        memcpy(out, p, n);
        out += n;
        p += n;
        if (!slash)
            break;
        const char *letter = p[1] ? strchr(letters, p[1]) : NULL;
        if (letter) {
            *out++ = values[letter - letters];
            p += 2;
        } else if (p[1] == 'u') {
            uint32_t c = take_unicode(s, &p, end);
            if (c == 0)
                return false;
            out = put_utf8(out, c);
        } else {
            report_hint(s->report, fail(s, p, 2, "\\ does not fit before this character"),
                        "write \\\\ for a backslash");
            return false;
        }
    }
    *out = '\0';
    return true;
}

static bool put_text(struct parse *s, const struct span *in, char *out)
{
    if (in->escaped)
        return unescape(s, in, out);
    memcpy(out, in->at, in->n); /* the arena gave zeros: the NUL is there */
    return true;
}

/* A node with room for a text of n bytes behind its key; *text is that room. NULL: reported. */
static struct text_node *new_node(struct parse *s, const struct key *key, size_t n, char **text)
{
    if (++s->nodes > TEXT_MAX_NODES && !(s->flags & JSON_ANSWER)) {
        fail(s, s->p, 1, "the text has more than %u values", TEXT_MAX_NODES);
        return NULL;
    }
    size_t head = key->text.at ? key->text.n + 1 : 0;
    struct text_node *node = arena_alloc(s->arena, sizeof *node + head + n + 1);
    char *room = (char *)(node + 1);
    if (key->text.at) {
        if (!put_text(s, &key->text, room))
            return NULL;
        node->key = room;
        node->key_place = key->place;
    }
    *text = room + head;
    return node;
}

static struct text_node *take_text(struct parse *s, const struct key *key)
{
    const char *open = s->p;
    struct span span;
    char *text;
    if (!take_string(s, &span))
        return NULL;
    struct text_node *node = new_node(s, key, span.n, &text);
    if (!node || !put_text(s, &span, text))
        return NULL;
    node->kind = TEXT_STR;
    node->str = text;
    node->place = here(s, open, span.n + 2);
    return node;
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* End of the number at s->p; NULL: reported. */
static const char *number_end(struct parse *s, bool *whole)
{
    const char *p = s->p + (*s->p == '-'), *digits = p;
    *whole = true;
    p = skip_digits(p, s->end);
    if (p == digits) {
        fail(s, s->p, 1, "digits are missing after \"-\"");
        return NULL;
    }
    if (*digits == '0' && p > digits + 1) {
        report_hint(s->report, fail(s, s->p, (size_t)(p - s->p), "a number begins with 0"),
                    "leave the zero out, or put quotes around it");
        return NULL;
    }
    if (p < s->end && *p == '.') {
        *whole = false;
        digits = ++p;
        p = skip_digits(p, s->end);
    }
    if (p > digits && p < s->end && (*p | 0x20) == 'e') {
        *whole = false;
        p++;
        p += p < s->end && (*p == '+' || *p == '-');
        digits = p;
        p = skip_digits(p, s->end);
    }
    if (p == digits) {
        fail(s, s->p, (size_t)(p - s->p), "the number ends without digits");
        return NULL;
    }
    return p;
}

static struct text_node *take_number(struct parse *s, const struct key *key)
{
    bool whole;
    const char *start = s->p, *end = number_end(s, &whole);
    if (!end)
        return NULL;
    size_t n = (size_t)(end - start);
    char *text;
    struct text_node *node = new_node(s, key, n, &text);
    if (!node)
        return NULL;
    memcpy(text, start, n);
    node->str = text;
    node->place = here(s, start, n);
    s->p = end;
    if (whole && scan_i64(text, INT64_MIN, INT64_MAX, &node->integer)) {
        node->kind = TEXT_INT;
    } else if (scan_real(text, &node->real)) {
        node->kind = TEXT_REAL;
    } else {
        fail(s, start, n, "the number is out of range");
        return NULL;
    }
    return node;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct word {
    const char *word;
    enum text_kind kind;
    bool boolean;
};

static const struct word words[] = {
    { .word = "true", .kind = TEXT_BOOL, .boolean = true },
    { .word = "false", .kind = TEXT_BOOL },
    { .word = "null", .kind = TEXT_NULL },
};

/* What does not begin a value. */
static struct text_node *not_a_value(struct parse *s, int c)
{
    struct problem *p;
    size_t n = 0;
    while (s->p + n < s->end && n < 40 && is_word_char(s->p[n]))
        n++;
    if (n > 0) {
        p = fail(s, s->p, n, "%.*s is not a value", (int)n, s->p);
        report_hint(s->report, p, "true, false, null, a number, or \"%.*s\" in quotes", (int)n,
                    s->p);
    } else if (c == '\'') {
        report_hint(s->report, fail(s, s->p, 1, "a text in single quotes"), "use double quotes");
    } else if (c == ',' || c == '}' || c == ']') {
        fail(s, s->p, 1, "a value is missing before \"%c\"", c);
    } else {
        uint32_t code;
        n = scan_char(s->p, (size_t)(s->end - s->p), &code);
        p = fail(s, s->p, n, "a value is missing, \"%.*s\" does not begin one", (int)n, s->p);
        report_hint(s->report, p, "a value begins with \", {, [, a digit, t, f or n");
    }
    return NULL;
}

static struct text_node *take_word(struct parse *s, const struct key *key)
{
    const char *end = s->p;
    while (end < s->end && is_word_char(*end))
        end++;
    size_t n = (size_t)(end - s->p);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strlen(words[i].word) != n || memcmp(words[i].word, s->p, n) != 0)
            continue;
        char *text;
        struct text_node *node = new_node(s, key, 0, &text);
        if (!node)
            return NULL;
        node->kind = words[i].kind;
        node->boolean = words[i].boolean;
        if (node->kind == TEXT_BOOL)
            node->str = words[i].word;
        node->place = here(s, s->p, n);
        s->p = end;
        return node;
    }
    return not_a_value(s, *s->p);
}

static struct text_node *take_value(struct parse *s, const struct key *key);

static void append(struct text_node *parent, struct text_node *child)
{
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

static const char *opening(const struct text_node *node)
{
    return node->kind == TEXT_MAP ? "{" : "[";
}

static void never_closed(struct parse *s, const struct text_node *node)
{
    struct problem *p =
        report_error(s->report, node->place, "", "\"%s\" is never closed", opening(node));
    report_hint(s->report, p, "the text ends before its \"%s\"",
                node->kind == TEXT_MAP ? "}" : "]");
}

static bool take_key(struct parse *s, int c, const struct text_node *map, struct key *key)
{
    const char *at = s->p;
    size_t n = 0;
    if (c == '"') {
        if (!take_string(s, &key->text))
            return false;
        key->place = here(s, at, (size_t)(s->p - at));
        c = peek(s);
        if (c == ':') {
            s->p++;
            return true;
        }
        if (c == END)
            never_closed(s, map);
        else if (c != BROKEN)
            report_hint(s->report, fail(s, s->p, 1, "a colon is missing after the key"), "\":\"");
        return false;
    }
    while (at + n < s->end && n < 64 && is_word_char(at[n]))
        n++;
    struct problem *p = fail(s, at, n ? n : 1, n ? "a key without quotes" : "a key is missing");
    if (n)
        report_hint(s->report, p, "\"%.*s\"", (int)n, at);
    else
        report_hint(s->report, p, "a key is a text in double quotes");
    return false;
}

/* Behind a value: true when another one follows; false at the end of the container, or with *ok
 * false after an error. last_end is the end of the value before, where a missing comma belongs. */
static bool more(struct parse *s, const struct text_node *node, const char *last_end, bool *ok)
{
    char close = node->kind == TEXT_MAP ? '}' : ']';
    int c = peek(s);
    if (c == close) {
        s->p++;
        return false;
    }
    if (c == ',') {
        const char *comma = s->p++;
        c = peek(s);
        if (c != close) {
            *ok = c != BROKEN;
            return *ok;
        }
        if (s->flags & JSON_COMMENTS) {
            s->p++;
            return false;
        }
        struct problem *p = fail(s, comma, 1, "a comma before \"%c\"", close);
        report_hint(s->report, p, "remove it");
        p->fix = "";
    } else if (c == END) {
        never_closed(s, node);
    } else if (c != BROKEN) {
        bool next = c == '"' || c == '{' || c == '[';
        struct problem *p =
            fail(s, next ? last_end : s->p, next ? 0 : 1, "\",\" or \"%c\" is missing here", close);
        if (next)
            p->fix = ",";
    }
    *ok = false;
    return false;
}

static void report_duplicate(struct parse *s, const struct text_node *child,
                             const struct text_node *first)
{
    struct problem *p =
        report_error(s->report, child->key_place, "", "\"%s\" is there twice, first in line %u",
                     child->key, first->key_place.line);
    report_hint(s->report, p, "remove one of them");
}

static bool take_members(struct parse *s, struct text_node *map, struct keys *keys)
{
    bool ok = true;
    int c = peek(s);
    if (c == '}') {
        s->p++;
        return true;
    }
    for (;; c = peek(s)) {
        struct key key = { .place = { .line = 0 } };
        if (c == END)
            never_closed(s, map);
        if (c < 0 || !take_key(s, c, map, &key))
            return false;
        struct text_node *child = take_value(s, &key);
        if (!child)
            return false;
        const struct text_node *first = keys_claim(keys, map, child);
        if (first)
            report_duplicate(s, child, first);
        else
            append(map, child);
        if (!more(s, map, s->p, &ok))
            return ok;
    }
}

static bool take_items(struct parse *s, struct text_node *list)
{
    static const struct key none = { .place = { .line = 0 } };
    bool ok = true;
    int c = peek(s);
    if (c == ']') {
        s->p++;
        return true;
    }
    if (c == END)
        never_closed(s, list);
    if (c < 0)
        return false;
    do {
        struct text_node *child = take_value(s, &none);
        if (!child)
            return false;
        append(list, child);
    } while (more(s, list, s->p, &ok));
    return ok;
}

static struct text_node *take_container(struct parse *s, const struct key *key, int c)
{
    char *text;
    if (s->depth == TEXT_MAX_DEPTH) {
        struct problem *p =
            fail(s, s->p, 1, "lists and maps are more than %d deep in each other", TEXT_MAX_DEPTH);
        report_hint(s->report, p, "no job needs that; is this the right file?");
        return NULL;
    }
    struct text_node *node = new_node(s, key, 0, &text);
    if (!node)
        return NULL;
    node->place = here(s, s->p, 1);
    s->p++;
    s->depth++;
    bool ok;
    if (c == '{') {
        struct keys keys = { .by_key = { .room = 0 } };
        node->kind = TEXT_MAP;
        ok = take_members(s, node, &keys);
        keys_fini(&keys);
    } else {
        node->kind = TEXT_LIST;
        ok = take_items(s, node);
    }
    s->depth--;
    return ok ? node : NULL;
}

static struct text_node *take_value(struct parse *s, const struct key *key)
{
    int c = peek(s);
    switch (c) {
    case BROKEN: return NULL;
    case END:
        report_hint(s->report, fail(s, s->p, 0, "the text ends where a value belongs"),
                    "is it complete?");
        return NULL;
    case '"': return take_text(s, key);
    case '{':
    case '[': return take_container(s, key, c);
    case '-': return take_number(s, key);
    default: break;
    }
    if (c >= '0' && c <= '9')
        return take_number(s, key);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return take_word(s, key);
    return not_a_value(s, c);
}

struct text_node *json_parse(struct arena *arena, const char *src, size_t len, unsigned flags,
                             struct report *report)
{
    static const struct key none = { .place = { .line = 0 } };
    static const char bom[] = "\xef\xbb\xbf";
    if (!source_check(src, len, flags & JSON_ANSWER ? SIZE_MAX : TEXT_MAX_BYTES, report))
        return NULL;
    struct parse s = { .src = src,
                       .p = src,
                       .end = src + len,
                       .arena = arena,
                       .report = report,
                       .flags = flags,
                       .line = 1,
                       .col = 1,
                       .mark = src };
    if (len >= strlen(bom) && memcmp(src, bom, strlen(bom)) == 0)
        s.mark = s.p = src + strlen(bom);
    struct text_node *root = take_value(&s, &none);
    if (!root)
        return NULL;
    int c = peek(&s);
    if (c == END)
        return root;
    if (c != BROKEN) {
        struct problem *p = fail(&s, s.p, 1, "the text goes on after its end");
        report_hint(report, p, "one document in one text");
    }
    return NULL;
}
