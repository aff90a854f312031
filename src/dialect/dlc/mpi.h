/* The files by which the launcher of an MPI job reaches its workers. Internal to this folder. */
#ifndef DIALECT_DLC_MPI_H
#define DIALECT_DLC_MPI_H

#include "dialect/dialect.h"

#define DLC_MPI_HOSTS "/etc/mpi/hostfile"
#define DLC_MPI_AGENT "/etc/mpi/kubexec.sh"
#define DLC_MPI_TMP   "/etc/mpi/tmp"

const struct dialect_file *dlc_files(struct arena *, const struct job_spec *,
                                     const struct job_place *, const struct site *, size_t *n);

#endif
