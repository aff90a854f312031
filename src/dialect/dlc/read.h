/* From a CreateJob body to the canonical job. Internal to this folder. */
#ifndef DIALECT_DLC_READ_H
#define DIALECT_DLC_READ_H

#include "dialect/dialect.h"

struct job_spec *dlc_read(struct arena *, const struct text_node *root, const struct site *,
                          struct report *);

#endif
