/* What one task of a role asks of a node, in the scheduler's units. */
#ifndef SCHED_TASK_REQUEST_H
#define SCHED_TASK_REQUEST_H

#include "sched/kinds.h"
#include "sched/mix.h"

#include <stdbool.h>
#include <stdint.h>

#define TASK_REQUEST_DEVICES_MAX 1000000u /* more than any node has */

struct task_request {
    const struct job_spec *job;
    const struct role *role;
    uint32_t at;      /* position of the role */
    uint32_t devices; /* whole ones */
    uint32_t share;   /* milli of one device; then devices is 0 */
    uint32_t dynamic_ports;
    bool has_static_ports;
};
void task_request_init(struct task_request *, const struct job_spec *, uint32_t role);
/* No amount of anything: such tasks are spread by number. */
bool task_request_is_nothing(const struct task_request *);

/* Why a node is out of the question for a task, whatever is free there. */
enum node_refusal {
    NODE_REFUSAL_NONE,
    NODE_REFUSAL_OWNER, /* it is of another job's own allocation, or the job has one and it is not
                         * of it
                         */
    NODE_REFUSAL_NAME,
    NODE_REFUSAL_ENGINE,
    NODE_REFUSAL_LABEL,
    NODE_REFUSAL_TYPE,
    NODE_REFUSAL_PRICE,
    NODE_REFUSAL_TIME
};
enum node_refusal task_request_refusal(const struct task_request *, const struct form *);
/* Is that device of the node of a type it may have? On a node with several models; else always. */
bool task_request_takes_device(const struct task_request *, const struct form *, uint32_t device);

/* The part of it that is the same for all nodes of the form's kind; and is that all of it? */
bool task_request_fits_kind(const struct task_request *, const struct kinds *, const struct form *);
bool task_request_is_of_kind(const struct task_request *, const struct kinds *);

/* That many tasks as one, for the potential; only whole devices and amounts add up. */
struct shape task_request_price_shape(const struct task_request *, const struct kinds *,
                                      uint32_t tasks);

#endif
