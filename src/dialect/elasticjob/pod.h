/* The template of a type as a role. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_POD_H
#define DIALECT_ELASTICJOB_POD_H

#include "dialect/elasticjob/reader.h"

/* Its program, environment, resources and mounts. */
void ej_pod_role(struct ej_reader *, enum ej_type, struct role *);
/* Does text refer to a variable by $(NAME), and where (at the '$'); *len: of the whole reference.
 * $$ is no reference. NULL: no more. */
const char *ej_reference(const char *text, size_t *len);

#endif
