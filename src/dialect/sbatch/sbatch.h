/* The sbatch dialect: a batch script of Slurm is a job file. */
#ifndef DIALECT_SBATCH_SBATCH_H
#define DIALECT_SBATCH_SBATCH_H

#include "dialect/dialect.h"

extern const struct dialect sbatch_dialect;
extern const struct convention sbatch_convention;

/* The table of options of doc/sbatch.md. */
struct buf;
void sbatch_reference(struct buf *out);

#endif
