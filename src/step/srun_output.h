/* Where srun puts what its tasks write: its own streams, or files. */
#ifndef STEP_SRUN_OUTPUT_H
#define STEP_SRUN_OUTPUT_H

#include "base/err.h"
#include "step/pattern.h"
#include "step/srun_opts.h"
#include "wire/step.h"

struct srun_output;
/* For the tasks of a step with that number. NULL: a file cannot be opened. */
struct srun_output *srun_output_create(const struct srun_opts *, uint32_t step, uint32_t tasks,
                                       struct err *);
/* name, node: where that rank runs, for names of files. */
struct srun_writer {
    const char *node;
    uint32_t node_id;
};
void srun_output_write(struct srun_output *, const struct srun_writer *, const struct step_data *);
void srun_output_end(struct srun_output *, uint32_t rank); /* the last line may have no end */
void srun_output_destroy(struct srun_output *);            /* NULL-safe */

#endif
