/* What both parsers ask of a text before they look at its syntax, and places in it. */
#ifndef TEXT_SOURCE_H
#define TEXT_SOURCE_H

#include "base/report.h"

#include <stdbool.h>
#include <stddef.h>

/* Empty, blank, too large, not text, not UTF-8, NUL: one error and false. */
bool source_check(const char *src, size_t len, size_t max, struct report *);
/* The n bytes at offset as a place. Counts from the start: for problems, not for every node. */
struct place source_place(const char *src, size_t offset, size_t n);
/* Characters that begin in the n bytes at s. */
size_t source_chars(const char *s, size_t n);

#endif
