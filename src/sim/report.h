/* Results for people: one as text, two side by side, one as a page. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "base/buf.h"
#include "text/tree.h"

void report_text(const struct text_node *result, struct buf *out);
void report_compare(const struct text_node *a, const struct text_node *b, struct buf *out);
/* One HTML document with its pictures in it. */
void report_page(const struct text_node *result, const char *title, struct buf *out);

#endif
