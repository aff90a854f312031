/* What a job of a batch script is, in whatever format it came: nodes that srun starts tasks on, of
 * which the first runs the script. */
#ifndef DIALECT_SBATCH_BATCH_H
#define DIALECT_SBATCH_BATCH_H

#include "base/report.h"
#include "job/job.h"

#define BATCH_CONVENTION "sbatch" /* gives tasks the SLURM_* variables, and srun */
#define BATCH_EXTRA      "sbatch" /* our part of job_spec.extra, and of config */
#define BATCH_PARTS      "parts"  /* in extra: the components, in the order of the roles */
#define BATCH_PORT       "step"   /* label of the port that srun reaches a node at */

/* The role's tasks are nodes; first: the first of them runs the script, whose end is the job's.
 * Sets what they run, their end, and adds a port to those that role->ports has room for. */
void batch_role(struct role *, bool first);
/* The job as a whole, without its script and its conventions. extra: a map, which becomes the job's
 * and gets our part with the list BATCH_PARTS, still empty; that goes to parts. Returns our part of
 * the job's new config. */
struct text_node *batch_job(struct arena *, struct job_spec *, struct text_node *extra,
                            struct text_node **parts);
/* The script into the config of batch_job(). */
void batch_set_script(struct arena *, struct text_node *config, const char *script);
/* The script of such a job; NULL: it is none. */
const char *batch_script(const struct job_spec *);
/* Whether the script has lines of options, for who has no use for them. */
bool batch_has_options(struct arena *, const char *script);

#endif
