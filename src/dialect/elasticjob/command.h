/* What the command of a role says of rendezvous. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_COMMAND_H
#define DIALECT_ELASTICJOB_COMMAND_H

#include "job/job.h"

/* 0: not said. */
struct ej_nnodes {
    uint32_t min, max, unit;
};
struct ej_nnodes ej_nnodes(const struct role *, uint32_t replicas);

#endif
