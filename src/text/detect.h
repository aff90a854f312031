/* Which syntax a text is written in. */
#ifndef TEXT_DETECT_H
#define TEXT_DETECT_H

#include "text/tree.h"

/* First significant character (after comments) '{' or '[': JSON with comments; else YAML. Parses
 * accordingly. */
struct text_node *text_parse(struct arena *, const char *src, size_t len, struct report *);

#endif
