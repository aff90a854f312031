/* application/x-www-form-urlencoded with nested names, as browsers' libraries write objects:
 * `a[0][b]=c&a[0][d]=e` is {a: [{b: c, d: e}]}. */
#ifndef TEXT_FORM_H
#define TEXT_FORM_H

#include "text/tree.h"

#define FORM_MAX_PAIRS 4000u
#define FORM_MAX_DEPTH 32u
#define FORM_MAX_INDEX 9999u

/* Text of len bytes -> a map whose leaves are all text. `a[]=x` appends; a name that comes again
 * becomes a list; a map whose keys are all numbers up to FORM_MAX_INDEX is a list in their order
 * (holes closed). "a.b" and unbalanced brackets are part of the name. What is no form (a bad %xx,
 * NUL, invalid UTF-8, over a bound, one name both text and map) is an error in report, and NULL. */
struct text_node *form_parse(struct arena *, const char *src, size_t len, struct report *);

/* %xx and + of len bytes into out (len + 1 bytes, NUL-terminated); false: a bad escape or a NUL. */
bool form_decode(const char *src, size_t len, bool plus, char *out);

#endif
