/* The functions of the dialect and its convention, and the names that a job of it carries. Internal
 * to this folder. */
#ifndef DIALECT_SBATCH_CONVENTION_H
#define DIALECT_SBATCH_CONVENTION_H

#include "dialect/dialect.h"

#define SBATCH_ROLE "node" /* of the first component; its first task runs the script */

/* See dialect.h. */
struct job_spec *sb_read(struct arena *, const struct text_node *root, const struct site *,
                         struct report *);
struct job_spec *sb_reshape(struct arena *, const struct job_spec *, struct report *);
struct text_node *sb_write(struct arena *, const struct job_spec *, struct report *);
void sb_env(struct arena *, const struct job_spec *, const struct job_place *, uint32_t flat,
            const struct site *, struct pairs *out);
const char *sb_host(struct arena *, const struct dialect_task *);
struct end_words sb_classify(const struct job_spec *, const struct ending *);
const char *sb_job_word(enum job_state, bool any_task_running);
const char *sb_task_word(enum task_state);
/* "2(x3),1" of so many tasks on so many nodes. */
const char *sb_spread(struct arena *, uint32_t tasks, uint32_t nodes);

#endif
