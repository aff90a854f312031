/* The scheduler: (snapshot, now) -> plan. Pure: no I/O, no clock, integers only, stable order. */
#ifndef SCHED_PLAN_H
#define SCHED_PLAN_H

#include "job/unfit.h"
#include "sched/cluster.h"

enum wait_why {
    WAIT_NONE,
    WAIT_RESOURCE,   /* `resource` is short by `short_by`; `node` has `best` of `need` a task */
    WAIT_PORTS,      /* a static port is taken */
    WAIT_LABELS,     /* no node has the labels, type or name asked for */
    WAIT_AHEAD,      /* behind `ahead` jobs of the queue */
    WAIT_TIME,       /* back-off until `until_ms` */
    WAIT_AFTER,      /* other jobs must end first */
    WAIT_NODES_DOWN, /* would fit if lost or drained nodes were back */
    WAIT_PENDING     /* not looked at yet */
};
struct wait_reason { /* structured and worded: "gpu: 4 short; n2 comes closest with 2 of 4 free" */
    enum wait_why why;
    const char *resource; /* "gpu" "cpu" "memory" "port 8080" "label zone=a" or a custom name */
    uint64_t need, best, short_by, total; /* milli for cpu and gpu, bytes for memory */
    const char *node;                     /* that comes closest */
    const char *role;
    uint32_t ahead;
    uint64_t until_ms;
    const char *text; /* one line for people */
};

struct sched_job { /* a waiting job */
    uint64_t id;
    const struct job_spec *spec;
    uint64_t not_before_ms; /* back-off; 0: none */
    bool blocked_after;
    uint64_t bundle;      /* jobs of one number start together or none; 0: by itself */
    uint32_t bundle_size; /* how many of them wait */
};
/* Tasks of a running job that need a place again (task retry, elastic growth): planned before
 * waiting jobs. All or nothing; those of an elastic job as many as fit. */
struct sched_more {
    uint64_t id;
    const struct job_spec *spec;
    const struct task_ref *tasks;
    size_t n;
    /* Where its other tasks are, for apart, spread and together; may be left out. */
    const struct task_place *held;
    size_t n_held;
};
struct sched_snapshot {
    const struct cluster *cluster;
    const struct sched_job *jobs; /* in order: priority, then age */
    size_t n_jobs;
    const struct sched_more *more;
    size_t n_more;
    /* Look at no more than so many blocked jobs; the rest gets WAIT_AHEAD; 0: 256. */
    uint32_t depth;
};

enum plan_kind { PLAN_ADMIT, PLAN_MORE, PLAN_EVICT, PLAN_RESERVE, PLAN_WAIT };
struct plan_entry {
    enum plan_kind kind;
    uint64_t job;
    /* ADMIT: the tasks in flat order; all, or at least the least of an elastic job. MORE: those
     * asked for, in their order (attempt 0); some of them when the job is elastic. */
    struct task_place *tasks;
    uint32_t n_tasks;
    uint64_t at_ms; /* RESERVE */
    struct wait_reason
        reason; /* WAIT; MORE: of those that found no place, WAIT_NONE when all did */
};
struct plan {
    struct plan_entry *at; /* MORE, then ADMIT, each in its order, then the rest */
    size_t n;
};
/* All of plan lives in arena. Gangs are all-or-nothing across roles; a gang that does not fit takes
 * nothing. Every job of the snapshot gets exactly one entry. */
struct plan sched_plan(const struct sched_snapshot *, uint64_t now_ms, struct arena *);

/* Could this job ever run with every node up, undrained and empty? 0; or -1 with the numbers in
 * reason. */
int sched_possible(const struct cluster *, const struct job_spec *, struct arena *,
                   struct wait_reason *);
/* Equal for jobs that ask for the same: what is possible for one is for the other. */
uint64_t sched_shape(const struct job_spec *);
/* What this one job would do now: ADMIT with places or WAIT with the reason; also for explain and
 * dry runs. */
struct plan_entry sched_try(const struct cluster *, const struct sched_job *, uint64_t now_ms,
                            struct arena *);
/* Example places for `check --env` without a server: one big node "node" at 127.0.0.1, ports from
 * port_first. */
struct plan_entry sched_example(const struct job_spec *, struct arena *);

/* Why the next task finds no place now. more: tasks of a running job, or n 0: its job as a whole,
 * of which the least is placed first. Texts in arena. */
struct unfits sched_unfit(const struct cluster *, const struct sched_more *more, struct arena *);

#endif
