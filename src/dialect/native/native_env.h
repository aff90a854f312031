/* The environments of the native conventions. */
#ifndef DIALECT_NATIVE_NATIVE_ENV_H
#define DIALECT_NATIVE_NATIVE_ENV_H

#include "dialect/dialect.h"

/* MUSTER_JOB_NAME, _JOB_ID, _JOB_NUMBER, _GENERATION, _ROLE, _INDEX, _RANK, _TASKS, _REPLICAS,
 * _ATTEMPT, _NODE, _ADDRESS, _PEERS ("worker/0=10.0.0.1,..."; left out above 96 KiB, where the
 * kernel would refuse it), _PORT_<LABEL> ("5000,5001"). */
void native_env(struct arena *, const struct job_spec *, const struct job_place *, uint32_t flat,
                const struct site *, struct pairs *out);
/* MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK, LOCAL_RANK, LOCAL_WORLD_SIZE, NODE_RANK: one rank for
 * each task. PET_NNODES, PET_NODE_RANK, PET_MASTER_ADDR, PET_MASTER_PORT: what `torchrun` reads,
 * one node for each task. The master is the first task; its port is the one labelled rdzv or
 * master, else its first, else one derived from the job's number. */
void pytorch_env(struct arena *, const struct job_spec *, const struct job_place *, uint32_t flat,
                 const struct site *, struct pairs *out);

#endif
