/* Aligned tables by display width. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define TABLE_COLUMNS 24

struct table_column {
    const char *title;
    bool right;   /* numbers */
    bool wide;    /* only with -o wide */
    size_t least; /* width */
    unsigned go;  /* on a narrow screen those with 1 are left out first, then 2 ...; 0: never */
};
struct table {
    struct arena *arena;
    const struct table_column *columns;
    size_t n_columns; /* at most TABLE_COLUMNS */
    bool wide;
    size_t width; /* of the screen: columns go, the last one is cut; 0: nothing is */
    bool gone[TABLE_COLUMNS];
    const char **cells;  /* row by row */
    const char **colors; /* of each row's painted cell: SGR code or NULL */
    size_t rows, cap;
    size_t painted; /* column that row colours are for */
};
void table_init(struct table *, struct arena *, const struct table_column *, size_t n, bool wide);
/* A new row of n_columns cells, all "". Texts are not copied. */
const char **table_row(struct table *);
/* Colour of the painted column in the newest row. */
void table_color(struct table *, size_t column, const char *sgr);
/* Width of each column as it is now; room for n_columns. */
void table_widths(const struct table *, size_t *widths);
/* indent spaces before each row; a head line where any column has a title. */
void table_print(struct table *, size_t indent, bool color, struct buf *out);

/* text in at most columns columns, with an ellipsis where it was cut; control characters become
 * '?'. In arena. */
const char *table_clip(struct arena *, const char *text, size_t columns);

#endif
