/* YAML in block style from the tree. A text stays plain only where no reader, also of YAML 1.1,
 * could take it for something else; texts of several lines become literal blocks where every
 * character may stand in one; all else is in double quotes. */
#include "text/yaml.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/print.h"
#include "text/yaml_help.h"

#include <string.h>

#define STEP       2
#define PLAIN_MAX  500u
/* libyaml takes a key on the line of its value up to 1024 characters as written, and in quotes one
 * byte can become six ("\u0001"). */
#define QUOTED_MAX 160u

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Words that YAML 1.1 readers turn into booleans. */
static bool is_old_boolean(const char *s)
{
    static const char *const words[] = { "y", "n", "yes", "no", "on", "off" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    return false;
}

static bool can_be_plain(const char *s)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./-+=@%$~^()<>;|?*!";
    if (!is_letter(s[0]) && s[0] != '/' && s[0] != '_' && s[0] != '$')
        return false;
    size_t n = strlen(s);
    if (n > PLAIN_MAX || s[n - 1] == ' ' || yaml_scalar_kind(s) != TEXT_STR || is_old_boolean(s))
        return false;
    for (size_t i = 1; i < n; i++) {
        bool space = s[i] == ' ' && s[i + 1] != ' ' && s[i + 1] != '#';
        bool colon = s[i] == ':' && s[i + 1] != ' ' && s[i + 1] != '\0';
        bool comma = s[i] == ','; /* ends a plain text only in flow style, which is not used */
        if (!space && !colon && !comma && !strchr(inner, s[i]))
            return false;
    }
    return true;
}

/* Several lines, each of characters that a literal block shows as they are. */
static bool can_be_literal(const char *s)
{
    const char *newline = strchr(s, '\n'), *end = s + strlen(s), *p = s;
    if (!newline || s[0] == '\n' || s[0] == ' ' || s[0] == '\t')
        return false;
    /* A last line of spaces only, or newlines at the end alone, have rules of their own: quotes are
     * clearer. */
    if (strspn(newline, "\n \t") == strlen(newline) && newline[1])
        return false;
    if (end[-1] == ' ' || end[-1] == '\t')
        return false;
    while (p < end) {
        const char *at = p;
        uint32_t c = print_next(&p, end);
        if (print_is_odd(c) || (c == 0xfffd && p - at == 1))
            return false;
    }
    return true;
}

static void put_spaces(int n, struct buf *out)
{
    buf_addf(out, "%*s", n, "");
}

static void put_literal(const char *s, int indent, struct buf *out)
{
    size_t n = strlen(s);
    bool ends = s[n - 1] == '\n', blank_end = ends && n > 1 && s[n - 2] == '\n';
    buf_puts(out, blank_end ? "|+" : ends ? "|" : "|-");
    while (*s) {
        size_t line = strcspn(s, "\n");
        buf_putc(out, '\n');
        if (line > 0)
            put_spaces(indent, out);
        buf_add(out, s, line);
        s += line + (s[line] == '\n');
    }
    buf_putc(out, '\n');
}

/* The key with its colon; one too long for the line of its value gets a line of its own. */
static void put_key(const char *key, int indent, struct buf *out)
{
    if (can_be_plain(key)) {
        buf_puts(out, key);
    } else if (strlen(key) > QUOTED_MAX) {
        buf_puts(out, "? ");
        print_quoted(key, true, out);
        buf_putc(out, '\n');
        put_spaces(indent, out);
    } else {
        print_quoted(key, true, out);
    }
    buf_putc(out, ':');
}

static void put_children(const struct text_node *node, int indent, bool inlined, struct buf *out);

/* A value behind "key:" or "-" (in_list), or the root. Ends the line. indent: of what is inside it.
 */
static void put_value(const struct text_node *node, int indent, bool in_list, struct buf *out)
{
    const char *gap = out->len && out->data[out->len - 1] != '\n' ? " " : "";
    if (node->first) {
        if (in_list)
            buf_putc(out, ' ');
        else if (*gap)
            buf_putc(out, '\n');
        put_children(node, indent, in_list, out);
        return;
    }
    buf_puts(out, gap);
    switch (node->kind) {
    case TEXT_BOOL: buf_puts(out, node->boolean ? "true" : "false"); break;
    case TEXT_INT:
    case TEXT_REAL: print_number(node, out); break;
    case TEXT_LIST: buf_puts(out, "[]"); break;
    case TEXT_MAP: buf_puts(out, "{}"); break;
    case TEXT_STR:
        if (can_be_plain(node->str)) {
            buf_puts(out, node->str);
        } else if (indent > 0 && can_be_literal(node->str)) {
            put_literal(node->str, indent, out);
            return;
        } else {
            print_quoted(node->str, true, out);
        }
        break;
    case TEXT_NULL:
    case TEXT_KIND_N: buf_puts(out, "null"); break;
    }
    buf_putc(out, '\n');
}

static void put_member(const struct text_node *c, int indent, struct buf *out)
{
    put_key(c->key, indent, out);
    put_value(c, indent + STEP, false, out);
}

/* inlined: the first child stands on the line of the "-" before it. */
static void put_children(const struct text_node *node, int indent, bool inlined, struct buf *out)
{
    for (const struct text_node *c = node->first; c; c = c->next) {
        if (c != node->first || !inlined)
            put_spaces(indent, out);
        if (node->kind == TEXT_MAP) {
            put_member(c, indent, out);
        } else {
            buf_putc(out, '-');
            put_value(c, indent + STEP, true, out);
        }
    }
}

void yaml_print(const struct text_node *node, struct buf *out)
{
    put_value(node, 0, false, out);
}
