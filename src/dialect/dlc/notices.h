/* What of a CreateJob body has no effect here, or is not filled in yet. Internal to this folder. */
#ifndef DIALECT_DLC_NOTICES_H
#define DIALECT_DLC_NOTICES_H

#include "base/report.h"
#include "text/tree.h"

struct dlc_create;
/* Values that are still "<what to put here>". Returns their number. */
size_t dlc_placeholders(const struct dlc_create *, struct report *);

/* Fields that have no effect here: a warning or an error each; what the canonical job cannot carry
 * is copied into keep. */
void dlc_notices(const struct dlc_create *, struct text_node *keep, struct report *);

#endif
