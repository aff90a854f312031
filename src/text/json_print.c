/* Strict JSON from the tree. */
#include "text/json.h"

#include "base/buf.h"
#include "text/print.h"

#define WIDE 64u

static void new_line(int indent, int depth, struct buf *out)
{
    static const char spaces[WIDE + 1] =
        "                                                                ";
    buf_putc(out, '\n');
    size_t n = (size_t)indent * (size_t)depth;
    for (; n > WIDE; n -= WIDE)
        buf_add(out, spaces, WIDE);
    buf_add(out, spaces, n);
}

static void put(const struct text_node *node, int indent, int depth, struct buf *out);

/* On one line, as lists of thousands of objects are. */
static void put_flat(const struct text_node *node, struct buf *out)
{
    bool map = node->kind == TEXT_MAP;
    buf_putc(out, map ? '{' : '[');
    for (const struct text_node *c = node->first; c; c = c->next) {
        if (map)
            print_key(c->key, c != node->first, out);
        else if (c != node->first)
            buf_putc(out, ',');
        put(c, 0, 0, out);
    }
    buf_putc(out, map ? '}' : ']');
}

static void put_children(const struct text_node *node, int indent, int depth, struct buf *out)
{
    bool map = node->kind == TEXT_MAP;
    buf_putc(out, map ? '{' : '[');
    for (const struct text_node *c = node->first; c; c = c->next) {
        new_line(indent, depth + 1, out);
        if (map) {
            print_quoted(c->key, false, out);
            buf_puts(out, ": ");
        }
        put(c, indent, depth + 1, out);
        if (c->next)
            buf_putc(out, ',');
    }
    if (node->first)
        new_line(indent, depth, out);
    buf_putc(out, map ? '}' : ']');
}

static void put(const struct text_node *node, int indent, int depth, struct buf *out)
{
    switch (node->kind) {
    case TEXT_BOOL: buf_puts(out, node->boolean ? "true" : "false"); break;
    case TEXT_INT:
    case TEXT_REAL: print_number(node, out); break;
    case TEXT_STR: print_quoted(node->str, false, out); break;
    case TEXT_LIST:
    case TEXT_MAP:
        if (indent)
            put_children(node, indent, depth, out);
        else
            put_flat(node, out);
        break;
    case TEXT_NULL:
    case TEXT_KIND_N: buf_puts(out, "null"); break;
    }
}

void json_print(const struct text_node *node, int indent, struct buf *out)
{
    put(node, indent, 0, out);
}
