/* A second, plain account of who holds what, and a placing by trying everything: what the scheduler
 * is measured against. */
#ifndef SCHED_TEST_LEDGER_H
#define SCHED_TEST_LEDGER_H

#include "sched/plan.h"

#define LEDGER_NODES 4u
#define LEDGER_GPUS  4u
#define LEDGER_PORTS 512u

struct ledger_node {
    const struct node_spec *spec;
    bool usable;
    uint64_t cpu, memory, licence; /* taken */
    uint32_t gpu[LEDGER_GPUS];
    uint32_t tasks;
};
struct ledger {
    struct ledger_node at[LEDGER_NODES];
    uint32_t n;
    bool has_zones; /* the label is a level of the topology */
    struct {
        const char *host;
        uint32_t port;
    } ports[LEDGER_PORTS];
    uint32_t n_ports;
};

/* Books one task; the text says what rule it breaks, NULL when none. */
const char *ledger_take(struct ledger *, const struct job_spec *, const struct task_place *);
void ledger_give(struct ledger *, const struct job_spec *, const struct task_place *);
/* What is wrong with the entry as a whole: order, counts, apart, together, labels. NULL: nothing.
 */
const char *ledger_judge(const struct ledger *, const struct job_spec *, const struct plan_entry *);
/* Is there any way at all to place the least of every role? */
bool ledger_could_place(const struct ledger *, const struct job_spec *);

#endif
