/* Tables are collected first, because widths are known only at the end. The last column is not
 * padded, and cut only where the table has a width. */
#include "cli/table.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

#define GAP        2
#define LAST_LEAST 8 /* columns that a cut last column has at least */

void table_init(struct table *t, struct arena *arena, const struct table_column *columns, size_t n,
                bool wide)
{
    if (n > TABLE_COLUMNS)
        BUG("a table of %zu columns", n);
    *t = (struct table){ .arena = arena, .columns = columns, .n_columns = n, .wide = wide };
}

const char **table_row(struct table *t)
{
    if (t->rows == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 32;
        const char **cells = ARENA_ARRAY(t->arena, cap * t->n_columns, const char *);
        const char **colors = ARENA_ARRAY(t->arena, cap, const char *);
        if (t->rows) {
            memcpy(cells, t->cells, t->rows * t->n_columns * sizeof *cells);
            memcpy(colors, t->colors, t->rows * sizeof *colors);
        }
        t->cells = cells;
        t->colors = colors;
        t->cap = cap;
    }
    const char **row = &t->cells[t->rows++ * t->n_columns];
    for (size_t i = 0; i < t->n_columns; i++)
        row[i] = "";
    return row;
}

void table_color(struct table *t, size_t column, const char *sgr)
{
    t->painted = column;
    t->colors[t->rows - 1] = sgr;
}

static bool shown(const struct table *t, size_t column)
{
    return (t->wide || !t->columns[column].wide) && !t->gone[column];
}

static size_t last_shown(const struct table *t)
{
    size_t last = 0;
    for (size_t i = 0; i < t->n_columns; i++)
        last = shown(t, i) ? i : last;
    return last;
}

void table_widths(const struct table *t, size_t *widths)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        widths[i] = scan_columns(t->columns[i].title, strlen(t->columns[i].title));
        widths[i] = widths[i] > t->columns[i].least ? widths[i] : t->columns[i].least;
        for (size_t r = 0; r < t->rows; r++) {
            const char *cell = t->cells[r * t->n_columns + i];
            size_t width = scan_columns(cell, strlen(cell));
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
}

struct cell {
    const char *text, *sgr;
    size_t width;
    bool right, last;
};

static void print_cell(const struct cell *c, struct buf *out)
{
    size_t used = scan_columns(c->text, strlen(c->text));
    int pad = (int)(c->width > used ? c->width - used : 0);
    if (c->right)
        buf_addf(out, "%*s", pad, "");
    if (c->sgr && *c->text)
        buf_addf(out, "\033[%sm%s\033[0m", c->sgr, c->text);
    else
        buf_puts(out, c->text);
    if (!c->last)
        buf_addf(out, "%*s", (c->right ? 0 : pad) + GAP, "");
}

static void trim_line(struct buf *out)
{
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_putc(out, '\n');
}

static bool drop_one(struct table *t)
{
    size_t first = t->n_columns;
    for (size_t i = 0; i < t->n_columns; i++)
        if (shown(t, i) && t->columns[i].go &&
            (first == t->n_columns || t->columns[i].go < t->columns[first].go))
            first = i;
    if (first < t->n_columns)
        t->gone[first] = true;
    return first < t->n_columns;
}

/* What the columns before the last one leave of the screen; 0: the last one is not cut. */
static size_t room_for_last(struct table *t, const size_t *widths, size_t indent, size_t last)
{
    size_t used;
    do {
        used = indent;
        for (size_t i = 0; i < last; i++)
            used += shown(t, i) ? widths[i] + GAP : 0;
    } while (t->width && used + LAST_LEAST > t->width && drop_one(t));
    if (!t->width)
        return 0;
    return used + LAST_LEAST < t->width ? t->width - used : LAST_LEAST;
}

void table_print(struct table *t, size_t indent, bool color, struct buf *out)
{
    size_t widths[TABLE_COLUMNS] = { 0 }, last = last_shown(t);
    bool head = false;
    table_widths(t, widths);
    size_t room = room_for_last(t, widths, indent, last);
    for (size_t i = 0; i < t->n_columns; i++)
        head = head || t->columns[i].title[0];
    for (size_t r = head ? 0 : 1; r <= t->rows; r++) {
        buf_addf(out, "%*s", (int)indent, "");
        for (size_t i = 0; i <= last; i++) {
            struct cell cell = { .text =
                                     r ? t->cells[(r - 1) * t->n_columns + i] : t->columns[i].title,
                                 .sgr = color && r && i == t->painted ? t->colors[r - 1] : NULL,
                                 .width = widths[i],
                                 .right = t->columns[i].right,
                                 .last = i == last };
            if (i == last && room)
                cell.text = table_clip(t->arena, cell.text, room);
            if (shown(t, i))
                print_cell(&cell, out);
        }
        trim_line(out);
    }
}

const char *table_clip(struct arena *arena, const char *text, size_t columns)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    size_t used = 0, n = strlen(text);
    for (size_t i = 0; i < n;) {
        uint32_t code;
        size_t len = scan_char(text + i, n - i, &code);
        bool odd = len == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0);
        size_t width = odd ? 1 : scan_columns(text + i, len);
        len = len ? len : 1;
        if (used + width > columns || (used + width == columns && i + len < n)) {
            buf_puts(&out, "…");
            break;
        }
        if (odd)
            buf_putc(&out, code == '\n' || code == '\t' ? ' ' : '?');
        else
            buf_add(&out, text + i, len);
        used += width;
        i += len;
    }
    return arena_strdup(arena, buf_str(&out));
}
