/* From the canonical job to an ElasticJob. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_WRITE_H
#define DIALECT_ELASTICJOB_WRITE_H

#include "dialect/dialect.h"

struct text_node *ej_write(struct arena *, const struct job_spec *, struct report *);

#endif
