/* Parameter files: `key=value` a line, the value to the end of the line and unquoted; and the lists
 * `k=v,k=v` and `a,b` that such values may be. */
#ifndef TEXT_KEYVALUE_H
#define TEXT_KEYVALUE_H

#include "text/tree.h"

/* The first line that says anything (no blank line, no `#` comment) is `key=...`. */
bool keyvalue_like(const char *src, size_t len);
/* The text as a map of texts, every value as written without the blanks around it. Line ends may be
 * LF or CRLF, the last one may be missing. Lines without a key, a key given twice, and what
 * source_check() refuses: errors in report. NULL when it is no such text at all. */
struct text_node *keyvalue_parse(struct arena *, const char *src, size_t len, struct report *);

/* The part of len bytes at offset of a value that keyvalue_parse() made, as a text of its own with
 * its own place. */
struct text_node *keyvalue_part(struct arena *, struct text_node *parent, const char *key,
                                const struct text_node *value, size_t offset, size_t len);
/* "a, b" as a list of texts; empty parts are left out. */
struct text_node *keyvalue_words(struct arena *, struct text_node *parent, const char *key,
                                 const struct text_node *value);
/* "a=1,b=2" as a map of texts. What is no k=v, or a name given twice, is an error in report, which
 * calls the value by path. */
struct text_node *keyvalue_pairs(struct arena *, struct text_node *parent, const char *key,
                                 const struct text_node *value, const char *path, struct report *);

#endif
