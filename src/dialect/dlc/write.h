/* From the canonical job to a CreateJob body. Internal to this folder. */
#ifndef DIALECT_DLC_WRITE_H
#define DIALECT_DLC_WRITE_H

#include "dialect/dialect.h"

struct job_spec *dlc_shape(struct arena *, const struct job_spec *, struct report *);
struct text_node *dlc_write(struct arena *, const struct job_spec *, struct report *);

#endif
