/* Applying the certain fixes of a report to the text it is about. */
#ifndef CLI_FIX_H
#define CLI_FIX_H

#include "base/buf.h"
#include "base/report.h"

/* Writes the mended text to out and one line for each change to said; the number of changes. Fixes
 * that overlap an earlier one are left for the next round. */
size_t fix_apply(const struct report *, const char *text, size_t len, struct buf *out,
                 struct buf *said);

#endif
