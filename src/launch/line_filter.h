/* A stream of bytes made into lines that carry a prefix, and the lines among them that hold one of
 * some words (torchrun's --tee and --duplicate-std*-filters). Pure. A carriage return ends a line
 * too, alone or before a line feed, as torchrun reads it. */
#ifndef LAUNCH_LINE_FILTER_H
#define LAUNCH_LINE_FILTER_H

#include "base/buf.h"
#include "job/job.h"

#include <stdbool.h>
#include <stddef.h>

#define LINE_MAX_HELD (1u << 20) /* a longer line goes on as another one */

struct line_filter {
    char *prefix;
    size_t prefix_len;
    const struct words *filters; /* NULL: nothing is copied */
    struct buf held;             /* of an unfinished line */
    bool after_return;           /* a line feed that follows belongs to the line before */
};
/* filters: kept, not copied. */
void line_filter_init(struct line_filter *, const char *prefix, const struct words *filters);
void line_filter_fini(struct line_filter *);
/* Adds the finished lines to out, those that match also to copy. */
void line_filter_take(struct line_filter *, const char *bytes, size_t len, struct buf *out,
                      struct buf *copy);
/* The stream ended: an unfinished line is one. */
void line_filter_end(struct line_filter *, struct buf *out, struct buf *copy);

#endif
