/* Gangs of the templates' annotations. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_GANG_H
#define DIALECT_ELASTICJOB_GANG_H

#include "dialect/elasticjob/reader.h"

/* Checks them against the command too. Called when all roles are there; types: of job->roles. */
void ej_gangs(struct ej_reader *, const enum ej_type *types);

#endif
