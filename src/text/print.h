/* What both writers need: characters of a text one by one, and numbers as JSON has them. */
#ifndef TEXT_PRINT_H
#define TEXT_PRINT_H

#include "text/tree.h"

struct buf;

/* The character at *s, which goes behind it; bytes that are no character give U+FFFD one by one. 0
 * at the end. */
uint32_t print_next(const char **s, const char *end);
/* A number node in a form that JSON and YAML read back as the same kind and value. */
void print_number(const struct text_node *node, struct buf *out);
/* s in double quotes. for_yaml: what YAML does not take as it is, is escaped too. */
void print_quoted(const char *s, bool for_yaml, struct buf *out);
/* A key of a map on one line: "key": with a comma in front when there is one before it. */
void print_key(const char *key, bool more, struct buf *out);
/* Not allowed unescaped in YAML. */
bool print_is_odd(uint32_t code);

#endif
