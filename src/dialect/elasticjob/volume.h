/* The volumes of a template as mounts of its role. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_VOLUME_H
#define DIALECT_ELASTICJOB_VOLUME_H

#include "dialect/elasticjob/reader.h"

/* Those that the container mounts, which stands at that place. */
void ej_volumes(struct ej_reader *, enum ej_type, const struct ej_container *, struct ej_place,
                struct role *);

#endif
