/* YAML 1.2 core schema by libyaml events into the same tree; anchors expanded within bounds. */
#ifndef TEXT_YAML_H
#define TEXT_YAML_H

#include "text/tree.h"

struct buf;

/* One document. Plain scalars: null ~ true false, ints, floats; everything else (yes, no, on, off,
 * 0x.., dates) stays text. Duplicate keys, keys that are not scalars, depth, total nodes (also
 * through aliases), size, a second document, tabs, invalid UTF-8, NUL: errors with places. JSON is
 * accepted as YAML is a superset (callers pick json_parse for texts that begin with '{'). */
struct text_node *yaml_parse(struct arena *, const char *src, size_t len, struct report *);
/* Several documents of one text (Kubernetes style): *docs gets an arena array, *n their number. -1
 * when any is broken. */
int yaml_parse_all(struct arena *, const char *src, size_t len, struct text_node ***docs, size_t *n,
                   struct report *);
/* Block style; strings are quoted where a plain one would read back as something else, multi-line
 * text as |. */
void yaml_print(const struct text_node *, struct buf *out);

#endif
