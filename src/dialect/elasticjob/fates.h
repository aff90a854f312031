/* What becomes of a field that has no member of its own, and odd values, as hooks of field rows.
 * Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_FATES_H
#define DIALECT_ELASTICJOB_FATES_H

#include "job/field.h"

/* Rows: accepted with a warning, refused, accepted in silence because it says nothing that would be
 * different here. The reason is the row's doc. */
#define IGNORED(key, why) FIELD_SAME(CUSTOM, key, .hooks = &fate_ignored, .doc = (why))
#define REFUSED(key, why) FIELD_SAME(CUSTOM, key, .hooks = &fate_refused, .doc = (why))
#define QUIET(key, why)   FIELD_SAME(CUSTOM, key, .hooks = &fate_quiet, .doc = (why))

extern const struct field_hooks fate_ignored, fate_refused, fate_quiet;
/* A map of texts (struct pairs) whose values may be lists and maps, taken as their JSON. */
extern const struct field_hooks fate_texts;
/* bool: true, false, also yes, no, t, y and the like in any case, in quotes or not. */
extern const struct field_hooks fate_bool;
/* const char *: Always, OnFailure, Never; all, none, "0:3,1:2". */
extern const struct field_hooks fate_restart, fate_critical;
extern const struct field_hooks fate_affinity;
extern const struct field_chars fate_object_name, fate_resource_name;

/* "honoured", "warned", "refused", "quiet" */
const char *fate_word(const struct field *);

#endif
