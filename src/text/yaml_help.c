/* Core schema of scalars, and better words for errors of YAML. libyaml says what its scanner
 * expected; people want to know which line is wrong and what to do with it. */
#include "text/yaml_help.h"

#include "base/mem.h"
#include "text/source.h"

#include <math.h>
#include <string.h>

static const char *skip_digits(const char *p)
{
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

static bool is_word(const char *s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(s, words[i]) == 0)
            return true;
    return false;
}

static enum text_kind number_kind(const char *s)
{
    const char *p = s + (*s == '-' || *s == '+'), *digits = p;
    p = skip_digits(p);
    bool some = p > digits;
    if (some && !*p)
        return TEXT_INT;
    if (*p == '.') {
        digits = ++p;
        p = skip_digits(p);
        some = some || p > digits;
    }
    if (some && (*p == 'e' || *p == 'E')) {
        p++;
        p += *p == '+' || *p == '-';
        digits = p;
        p = skip_digits(p);
        some = p > digits;
    }
    /* What is too large for a number stays text. */
    return some && !*p && isfinite(strtod(s, NULL)) ? TEXT_REAL : TEXT_STR;
}

enum text_kind yaml_scalar_kind(const char *s)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
    static const char *const bools[] = { "true", "True", "TRUE", "false", "False", "FALSE" };
    if (is_word(s, nulls, ARRAY_LEN(nulls)))
        return TEXT_NULL;
    if (is_word(s, bools, ARRAY_LEN(bools)))
        return TEXT_BOOL;
    return number_kind(s);
}

struct saying {
    const char *problem; /* how libyaml's text begins */
    const char *what, *hint;
    bool at_context; /* the place is where the broken thing begins */
};

static const struct saying sayings[] = {
    { .problem = "found character that cannot start any token",
      .what = "this character cannot begin a text",
      .hint = "put the text in quotes" },
    { .problem = "mapping values are not allowed in this context",
      .what = "a \":\" does not fit here",
      .hint =
          "check the indentation of this line and the one above; quote a text that has \": \" in it" },
    { .problem = "did not find expected key",
      .what = "this line does not fit the block it is in",
      .hint = "give it the indentation of its neighbours; quote a text that has \" or ' in it" },
    { .problem = "did not find expected '-' indicator",
      .what = "this line does not fit the list it is in",
      .hint = "give it the indentation of its neighbours, or begin it with \"- \"" },
    { .problem = "block sequence entries are not allowed in this context",
      .what = "a \"- \" does not fit here",
      .hint = "begin the list on a line of its own below the key" },
    { .problem = "could not find expected ':'",
      .what = "a \":\" is missing after this key",
      .hint = "write key: value; check the indentation",
      .at_context = true },
    { .problem = "found unexpected end of stream",
      .what = "a quote is never closed",
      .hint = "close the text that begins here",
      .at_context = true },
    { .problem = "found unexpected document indicator",
      .what = "a quote is never closed",
      .hint = "close the text that begins here",
      .at_context = true },
    { .problem = "did not find expected ',' or ']'", .what = "a \",\" or \"]\" is missing here" },
    { .problem = "did not find expected ',' or '}'", .what = "a \",\" or \"}\" is missing here" },
    { .problem = "found a tab character",
      .what = "a tab is used for indentation",
      .hint = "indent with spaces" },
    { .problem = "did not find expected alphabetic or numeric character",
      .what = "& and * begin the name of an anchor, and there is none",
      .hint = "quote a text that begins with & or *" },
    { .problem = "found unknown escape character",
      .what = "\\ does not fit before this character",
      .hint = "write \\\\ for a backslash, or use single quotes" },
    { .problem = "found incompatible YAML document",
      .what = "this version of YAML is not known",
      .hint = "leave the %YAML line out" },
};

/* The line of offset: from its first byte to its newline. */
static const char *line_start(const char *src, size_t offset)
{
    while (offset > 0 && src[offset - 1] != '\n')
        offset--;
    return src + offset;
}

/* First tab in the white space at the front of the line that has offset; NULL when there is none.
 */
static const char *leading_tab(const char *src, size_t len, size_t offset)
{
    const char *p = line_start(src, offset < len ? offset : len);
    while (p < src + len && *p == ' ')
        p++;
    return p < src + len && *p == '\t' ? p : NULL;
}

static bool explain_tab(const char *src, size_t len, const struct yaml_fault *f, struct report *r)
{
    const char *tab = leading_tab(src, len, f->place.offset);
    if (!tab && f->context)
        tab = leading_tab(src, len, f->context_place.offset);
    if (!tab)
        return false;
    struct problem *p = report_error(r, source_place(src, (size_t)(tab - src), 1), "",
                                     "a tab is used for indentation");
    report_hint(r, p, "indent with spaces");
    return true;
}

void yaml_explain(const char *src, size_t len, const struct yaml_fault *f, struct report *r)
{
    struct problem *p;
    if (f->reader) {
        report_hint(r, report_error(r, f->place, "", "a control character is in the text"),
                    "remove it; in double quotes it can be written \\xNN");
        return;
    }
    if (explain_tab(src, len, f, r))
        return;
    const char *problem = f->problem ? f->problem : "";
    for (size_t i = 0; i < ARRAY_LEN(sayings); i++) {
        const struct saying *s = &sayings[i];
        if (strncmp(problem, s->problem, strlen(s->problem)) != 0)
            continue;
        p = report_error(r, s->at_context && f->context ? f->context_place : f->place, "", "%s",
                         s->what);
        if (s->hint)
            report_hint(r, p, "%s", s->hint);
        return;
    }
    p = report_error(r, f->place, "", "not YAML: %s%s%s", problem, f->context ? " " : "",
                     f->context ? f->context : "");
    report_hint(r, p, "check this line and the one above");
}

/* What a line is for yaml_lost_indentation(). */
enum line_sort { LINE_NONE, LINE_INDENTED, LINE_ITEM, LINE_OPENS, LINE_OTHER };

static enum line_sort sort_line(const char *p, size_t n)
{
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r'))
        n--;
    if (n == 0 || *p == '#' || *p == '%' || (n == 3 && memcmp(p, "---", 3) == 0))
        return LINE_NONE;
    if (*p == ' ' || *p == '\t')
        return LINE_INDENTED;
    if (p[n - 1] == ':')
        return LINE_OPENS;
    return *p == '-' ? LINE_ITEM : LINE_OTHER;
}

bool yaml_lost_indentation(const char *src, size_t len, struct place *place)
{
    const char *end = src + len, *opening = NULL, *first = NULL;
    size_t openings = 0, lines = 0;
    for (const char *line = src; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        enum line_sort sort = sort_line(line, (size_t)(stop - line));
        if (sort == LINE_INDENTED)
            return false;
        if (sort != LINE_NONE) {
            /* A key that opens a block, followed by something that is not its list. */
            if (opening && sort != LINE_ITEM) {
                first = first ? first : opening;
                openings++;
            }
            opening = sort == LINE_OPENS ? line : NULL;
            lines++;
        }
        line = newline ? newline + 1 : end;
    }
    if (lines < 4 || openings == 0)
        return false;
    const char *stop = memchr(first, '\n', (size_t)(end - first));
    *place = source_place(src, (size_t)(first - src), (size_t)((stop ? stop : end) - first));
    return true;
}
