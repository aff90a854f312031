/* What becomes of a foreign field that has no member of its own, as rows of field tables, and the
 * tables of the pages of dialects. */
#ifndef JOB_FATE_H
#define JOB_FATE_H

#include "job/field.h"

/* Rows: accepted with a warning, refused, accepted in silence because it says nothing that would be
 * different here. The reason is the row's doc. */
#define IGNORED(key, why) FIELD_SAME(CUSTOM, key, .hooks = &fate_ignored, .doc = (why))
#define REFUSED(key, why) FIELD_SAME(CUSTOM, key, .hooks = &fate_refused, .doc = (why))
#define QUIET(key, why)   FIELD_SAME(CUSTOM, key, .hooks = &fate_quiet, .doc = (why))

extern const struct field_hooks fate_ignored, fate_refused, fate_quiet;

enum fate { FATE_HONOURED, FATE_WARNED, FATE_REFUSED, FATE_QUIET };
enum fate fate_of(const struct field *);
/* "honoured", "warned", "refused", "quiet" */
const char *fate_word(const struct field *);
/* Markdown: a section with a line for each row. */
struct buf;
void fate_table(struct buf *out, const char *title, const struct field *table);

#endif
