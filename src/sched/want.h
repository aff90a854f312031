/* What one task of a role asks of a node, in the scheduler's units. */
#ifndef SCHED_WANT_H
#define SCHED_WANT_H

#include "sched/kinds.h"
#include "sched/mix.h"

#include <stdbool.h>
#include <stdint.h>

#define WANT_DEVICES_MAX 1000000u /* more than any node has */

struct want {
    const struct job_spec *job;
    const struct role *role;
    uint32_t at;      /* position of the role */
    uint32_t devices; /* whole ones */
    uint32_t share;   /* milli of one device; then devices is 0 */
    uint32_t dynamic_ports;
    bool has_static_ports;
};
void want_init(struct want *, const struct job_spec *, uint32_t role);
/* No amount of anything: such tasks are spread by number. */
bool want_is_nothing(const struct want *);

/* Why a node is out of the question for a task, whatever is free there. */
enum node_refusal {
    MISFIT_NONE,
    MISFIT_OWNER, /* it is of another job's own allocation, or the job has one and it is not of it
                   */
    MISFIT_NAME,
    MISFIT_ENGINE,
    MISFIT_LABEL,
    MISFIT_TYPE,
    MISFIT_PRICE,
    MISFIT_TIME
};
enum node_refusal want_misfit(const struct want *, const struct form *);
/* Is that device of the node of a type it may have? On a node with several models; else always. */
bool want_takes_device(const struct want *, const struct form *, uint32_t device);

/* The part of it that is the same for all nodes of the form's kind; and is that all of it? */
bool want_fits_kind(const struct want *, const struct kinds *, const struct form *);
bool want_is_of_kind(const struct want *, const struct kinds *);

/* That many tasks as one, for the potential; only whole devices and amounts add up. */
struct shape want_price_shape(const struct want *, const struct kinds *, uint32_t tasks);

#endif
