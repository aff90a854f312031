/* The roles of a canonical job as the format has them. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_SHAPE_H
#define DIALECT_ELASTICJOB_SHAPE_H

#include "dialect/dialect.h"

struct job_spec *ej_shape(struct arena *, const struct job_spec *, struct report *);

#endif
