/* Which fields go with which origin of the resources. Internal to this folder. */
#ifndef DIALECT_DLC_CONDITIONS_H
#define DIALECT_DLC_CONDITIONS_H

#include "base/report.h"

struct dlc_create;
/* Where the resources come from, as far as the text says. */
enum dlc_origin { DLC_PUBLIC = 1, DLC_QUOTA = 2, DLC_SPOT = 4, DLC_LINGJUN = 8 };
unsigned dlc_origin_of(const struct dlc_create *);

/* The table of conditions (origin x field), for an origin that may be better known than from the
 * text alone. */
void dlc_conditions(const struct dlc_create *, unsigned origin, struct report *);

#endif
