/* One thing that a unit of tasks needs of a node: how often it fits there, how much of it is free.
 */
#ifndef SCHED_DEMAND_H
#define SCHED_DEMAND_H

#include "base/buf.h"
#include "sched/nodes.h"

enum demand_kind {
    DEMAND_GPU,   /* wholly free devices, in milli */
    DEMAND_SHARE, /* of one device, or of all when several tasks share the demand, in milli */
    DEMAND_CPU,
    DEMAND_MEMORY,
    DEMAND_DISK,
    DEMAND_CUSTOM,
    DEMAND_PORTS, /* dynamic ones, a count */
    DEMAND_PORT   /* a range by number; the amount is 1 when all of it is free */
};
struct demand {
    enum demand_kind kind;
    const char *name; /* "gpu" "cpu" "memory" "port 8080" or a custom name */
    uint64_t need;    /* of a unit; never 0 */
    bool one_device;  /* DEMAND_SHARE of a single task: exact per device */
    const struct task_request
        *type;               /* devices: of whose types; NULL: of any, or not all of the same */
    struct port_range range; /* DEMAND_PORT */
    uint32_t per_unit;       /* DEMAND_PORT: more than one task of a unit never fit on one host */
};

struct member { /* of a unit */
    const struct task_request *want;
    uint32_t per; /* tasks of it in a unit */
};
/* The demands of a unit, most telling first. */
struct demand *demand_list(struct arena *, const struct member *, size_t n_members, size_t *n);

/* Units for which this alone would be enough on the node, at most limit. Exact for units of one
 * task, else not too low. */
uint64_t demand_slots(const struct cluster *, uint32_t node, const struct demand *, uint64_t limit);
uint64_t demand_free(const struct cluster *, uint32_t node, const struct demand *);
/* What remains there when as many units as possible are served. */
uint64_t demand_left(const struct cluster *, uint32_t node, const struct demand *);
/* "4", "0.5", "16Gi": the amount without its name. */
void demand_amount(const struct demand *, uint64_t amount, struct buf *out);

#endif
