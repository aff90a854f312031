/* From an ElasticJob to the canonical job. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_READ_H
#define DIALECT_ELASTICJOB_READ_H

#include "dialect/dialect.h"

struct job_spec *ej_read(struct arena *, const struct text_node *root, const struct site *,
                         struct report *);

#endif
