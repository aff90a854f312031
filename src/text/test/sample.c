/* Shared by the tests of text/. Random texts favour what breaks writers: quotes, line ends, spaces
 * at the edges, words and numbers that mean something else without quotes, characters of every
 * length. */
#include "text/test/sample.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

void sample_fini(struct sample *s)
{
    arena_destroy(s->arena);
    *s = (struct sample){ .root = NULL };
}

void sample_parse(struct sample *s, parser *parse, const char *src, size_t len)
{
    sample_fini(s);
    s->arena = arena_create();
    report_init(&s->report, s->arena);
    /* A copy that ends where the text ends: reading past it is seen by the sanitizer. */
    char *exact = mem_new(len);
    memcpy(exact, src, len);
    s->root = parse(s->arena, exact, len, &s->report);
    free(exact);
}

void sample_expect_bad(struct sample *s, parser *parse, const struct bad_text *bad)
{
    sample_parse(s, parse, bad->src, strlen(bad->src));
    const struct problem *p = s->report.at;
    bool right = s->report.errors == 1 && !s->root && p->place.line == bad->line &&
                 p->place.col == bad->col && strstr(p->what, bad->what);
    if (!right)
        fail_msg("<%s> has %zu errors, %u:%u: %s; wanted %u:%u: %s", bad->src, s->report.errors,
                 s->report.n ? p->place.line : 0, s->report.n ? p->place.col : 0,
                 s->report.n ? p->what : "", bad->line, bad->col, bad->what);
}

static uint64_t roll(struct dice *dice, uint64_t sides)
{
    return dice_roll(dice) % sides;
}

static const char *random_text(struct arena *a, struct dice *dice)
{
    static const char *const whole[] = {
        "",       "true",       "null",
        "~",      "yes",        "off",
        "12",     "-0",         "1e5",
        "0x1F",   ".5",         "-",
        "- a",    "a: b",       "a #b",
        "#",      "key:",       "'",
        "\"",     "\\",         "*a",
        "&a",     "!t",         "%x",
        "@x",     "`x",         "a\n",
        "a\nb",   "a\n\n",      "\n",
        "\na",    " a",         "a ",
        "a\n b",  "a\n ",       "a\n\nb\n\n",
        "---",    "...",        "[x]",
        "{x}",    "a,b",        "? a",
        "| ",     "> ",         "\tx",
        "a\tb\n", "2001-01-01", "1:30",
        "<<",     "=",          "echo \"$X\" && exit 3\nsleep 1\n",
    };
    static const char *const parts[] = { "a",
                                         "B",
                                         "7",
                                         " ",
                                         "\n",
                                         "\t",
                                         ":",
                                         "#",
                                         "\"",
                                         "'",
                                         "\\",
                                         "-",
                                         ",",
                                         "\x01",
                                         "\x7f",
                                         "\r",
                                         "\xc2\x85",
                                         "\xc3\xa9",
                                         "\xe2\x80\xa8",
                                         "\xef\xbb\xbf",
                                         "\xef\xbf\xbd",
                                         "\xe6\xbc\xa2",
                                         "\xf0\x9f\x98\x80",
                                         "%",
                                         "@",
                                         "{",
                                         "]" };
    if (roll(dice, 2))
        return whole[roll(dice, ARRAY_LEN(whole))];
    char text[200] = "";
    size_t n = roll(dice, 30), len = 0;
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s",
                                parts[roll(dice, ARRAY_LEN(parts))]);
    return arena_strdup(a, text);
}

/* Bits as a double, for every size of number. */
static double random_real(struct dice *dice)
{
    uint64_t bits = roll(dice, UINT64_MAX);
    double value;
    if (roll(dice, 2))
        return (double)(int64_t)bits / 1024.0;
    memcpy(&value, &bits, sizeof value);
    return value > -1e300 && value < 1e300 ? value : 0.1;
}

static void fill(struct arena *a, struct text_node *parent, struct dice *dice, int depth);

static void add_random(struct arena *a, struct text_node *parent, const char *key,
                       struct dice *dice, int depth)
{
    switch (roll(dice, depth > 0 ? 9 : 7)) {
    case 0: text_null(a, parent, key); break;
    case 1: text_bool(a, parent, key, roll(dice, 2)); break;
    case 2: text_int(a, parent, key, (int64_t)roll(dice, UINT64_MAX) >> roll(dice, 63)); break;
    case 3: text_real(a, parent, key, random_real(dice)); break;
    case 7: fill(a, text_map(a, parent, key), dice, depth - 1); break;
    case 8: fill(a, text_list(a, parent, key), dice, depth - 1); break;
    default: text_str(a, parent, key, random_text(a, dice)); break;
    }
}

static void fill(struct arena *a, struct text_node *parent, struct dice *dice, int depth)
{
    size_t n = roll(dice, roll(dice, 8) ? 6 : 40);
    for (size_t i = 0; i < n; i++) {
        const char *key = parent->kind == TEXT_MAP ? random_text(a, dice) : NULL;
        if (!key || !text_get(parent, key))
            add_random(a, parent, key, dice, depth);
    }
}

struct text_node *sample_tree(struct arena *a, struct dice *dice, int depth)
{
    struct text_node *root = roll(dice, 2) ? text_map(a, NULL, NULL) : text_list(a, NULL, NULL);
    fill(a, root, dice, depth);
    return root;
}
