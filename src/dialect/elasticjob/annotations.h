/* The job's annotations. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_ANNOTATIONS_H
#define DIALECT_ELASTICJOB_ANNOTATIONS_H

#include "dialect/elasticjob/reader.h"

/* Those that the controller hands to the master. */
void ej_annotations(struct ej_reader *);

#endif
