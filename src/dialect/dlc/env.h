/* What tasks of DLC find in their environment. Internal to this folder. */
#ifndef DIALECT_DLC_ENV_H
#define DIALECT_DLC_ENV_H

#include "dialect/dialect.h"

void dlc_environment(struct arena *, const struct job_spec *, const struct job_place *,
                     uint32_t flat, const struct site *, struct pairs *out);
const char *dlc_host(struct arena *, const struct dialect_task *);
struct dlc_type;
/* Is name set by the system for jobs of this type (a value of the job's own is not used)? */
bool dlc_env_reserved(const struct dlc_type *, const char *name);

#endif
