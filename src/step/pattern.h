/* Names of files as sbatch and srun take them: "%x-%j.out", "logs/%A_%4a". */
#ifndef STEP_PATTERN_H
#define STEP_PATTERN_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct pattern_facts {
    const char *job, *array_job, *array_index; /* numbers as texts; array ones NULL: no array */
    const char *name, *user, *node;            /* node: where it is written */
    uint32_t node_id, task;
    uint32_t step;
    bool has_step;
};
/* In arena. What is no pattern stays as it is; a backslash anywhere means none is one. */
const char *pattern_expand(struct arena *, const char *text, const struct pattern_facts *);
/* Does every task get a file of its own by it? */
bool pattern_by_task(const char *text);

#endif
