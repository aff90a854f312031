/* Strict JSON from the tree: with an indent one member a line, without one all of it on one line.
 * What is printed is read back as the same tree. */
#include "text/json.h"

#include "base/buf.h"
#include "text/print.h"

#include <stdlib.h>

#define WIDE 64u

struct printer {
    struct buf *out;
    int indent;
    struct json_gap *gaps;
    size_t n;
};

static void new_line(const struct printer *p, int depth)
{
    static const char spaces[WIDE + 1] =
        "                                                                ";
    buf_putc(p->out, '\n');
    size_t n = (size_t)p->indent * (size_t)depth;
    for (; n > WIDE; n -= WIDE)
        buf_add(p->out, spaces, WIDE);
    buf_add(p->out, spaces, n);
}

static void put(const struct printer *p, const struct text_node *node, int depth);

/* The list is open in out: its elements go here. */
static void note_gap(const struct printer *p, const struct text_node *list)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->gaps[i].list == list)
            p->gaps[i].at = p->out->len;
}

/* On one line, as lists of thousands of objects are. */
static void put_flat(const struct printer *p, const struct text_node *node)
{
    bool map = node->kind == TEXT_MAP;
    buf_putc(p->out, map ? '{' : '[');
    if (!node->first)
        note_gap(p, node);
    for (const struct text_node *c = node->first; c; c = c->next) {
        if (map)
            print_key(c->key, c != node->first, p->out);
        else if (c != node->first)
            buf_putc(p->out, ',');
        put(p, c, 0);
    }
    buf_putc(p->out, map ? '}' : ']');
}

static void put_children(const struct printer *p, const struct text_node *node, int depth)
{
    bool map = node->kind == TEXT_MAP;
    buf_putc(p->out, map ? '{' : '[');
    for (const struct text_node *c = node->first; c; c = c->next) {
        new_line(p, depth + 1);
        if (map) {
            print_quoted(c->key, false, p->out);
            buf_puts(p->out, ": ");
        }
        put(p, c, depth + 1);
        if (c->next)
            buf_putc(p->out, ',');
    }
    if (node->first)
        new_line(p, depth);
    buf_putc(p->out, map ? '}' : ']');
}

static void put(const struct printer *p, const struct text_node *node, int depth)
{
    switch (node->kind) {
    case TEXT_BOOL: buf_puts(p->out, node->boolean ? "true" : "false"); break;
    case TEXT_INT:
    case TEXT_REAL: print_number(node, p->out); break;
    case TEXT_STR: print_quoted(node->str, false, p->out); break;
    case TEXT_LIST:
    case TEXT_MAP:
        if (p->indent)
            put_children(p, node, depth);
        else
            put_flat(p, node);
        break;
    case TEXT_NULL:
    case TEXT_KIND_N: buf_puts(p->out, "null"); break;
    }
}

void json_print(const struct text_node *node, int indent, struct buf *out)
{
    put(&(struct printer){ .out = out, .indent = indent }, node, 0);
}

static int by_place(const void *a, const void *b)
{
    const struct json_gap *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

void json_print_gaps(const struct text_node *node, struct json_gap *gaps, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        gaps[i].at = SIZE_MAX;
    put(&(struct printer){ .out = out, .gaps = gaps, .n = n }, node, 0);
    if (n)
        qsort(gaps, n, sizeof *gaps, by_place);
}
