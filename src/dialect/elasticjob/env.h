/* What pods of an ElasticJob find in their environment. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_ENV_H
#define DIALECT_ELASTICJOB_ENV_H

#include "dialect/dialect.h"

void ej_env(struct arena *, const struct job_spec *, const struct job_place *, uint32_t flat,
            const struct site *, struct pairs *out);
const char *ej_expand(struct arena *, const struct dialect_task *, const struct pairs *known,
                      const char *value);
/* Variables that the convention gives every task; they win over the job's own. */
bool ej_own_variable(const char *name);

#endif
