/* What commands answer with (struct ctl_result of ctl.h), as the core knows it when it carries them
 * out: the job may be gone when the answer is read. What is zero, NULL or false is not known. All
 * of it lies in the arena of the answer. */
#ifndef CTL_RESULTS_H
#define CTL_RESULTS_H

#include "base/pairs.h"
#include "inventory/away_view.h"
#include "job/job.h"
#include "job/state.h"

#include <stdbool.h>
#include <stdint.h>

struct explain_view;
struct text_node;

struct job_result { /* a job after a command */
    uint64_t id, number, array, members, tasks, gpu_milli, generation, restarts;
    enum job_state state;
    enum job_outcome outcome;
    const char *name, *owner, *reason;
    bool has_index;
    int64_t index;
    struct away_list away; /* machines that cannot be reached and have tasks of it */
};
struct submitted_view {
    uint64_t id;
    enum job_state state;
    const char *name, *dialect, *title, *reason, *work_dir, *code_dir, *applied, *indices;
    uint64_t number, roles, tasks, members, cpu_milli, memory, gpu_milli;
    bool existing, dry_run;
    const struct text_node *warnings; /* {path, what, hint, line, col} */
    const struct job_spec *spec;      /* NULL: it was there already */
    /* of a dry run, as the caller asked of it */
    struct pairs places; /* task: node */
    const struct explain_view *explain;
};

#endif
