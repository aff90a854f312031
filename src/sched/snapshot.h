/* What the scheduler is asked (the snapshot) and what it answers (the plan), as data. */
#ifndef SCHED_SNAPSHOT_H
#define SCHED_SNAPSHOT_H

#include "job/unfit.h"
#include "sched/cluster.h"
#include "sched/held_places.h"
#include "sched/quota.h"

enum wait_why {
    WAIT_NONE,
    WAIT_RESOURCE,   /* `resource` is short by `short_by`; `node` has `best` of `need` a task */
    WAIT_PORTS,      /* a static port is taken */
    WAIT_LABELS,     /* no node has the labels, type or name asked for */
    WAIT_AHEAD,      /* behind `ahead` jobs of the queue */
    WAIT_TIME,       /* back-off until `until_ms` */
    WAIT_AFTER,      /* other jobs must end first */
    WAIT_NODES_DOWN, /* would fit if lost or drained nodes were back */
    WAIT_QUOTA,      /* its queue `queue` uses `best` of the `total` of `resource` it may have */
    WAIT_USER,       /* the same of its user in that queue */
    WAIT_RESERVED,   /* there is room, and starting now would delay job `blocker` */
    WAIT_EVICTING,   /* others are being ended for it */
    WAIT_TOPOLOGY,   /* `domain` of `level` comes closest to holding all; best and need are of it */
    WAIT_PENDING,    /* not looked at yet */
    WAIT_ALLOCATION  /* its own allocation has no node yet: never of a plan */
};
/* What is stated of a reason; it decides nothing. With the members that it is made of, besides
 * resource, role, node, need, best and short_by. */
enum wait_says {
    SAYS_NOTHING,
    /* no look at the cluster */
    SAYS_AHEAD,
    SAYS_BACK_OFF,
    SAYS_AFTER,
    SAYS_PROMISED,
    SAYS_SHARE_KEPT,
    SAYS_QUOTA,      /* total, used, queue_name */
    SAYS_USER_QUOTA, /* the same */
    /* no room can cure it: asked; narrowed: more than that was asked for */
    SAYS_NO_TYPE, /* there */
    SAYS_NO_LABEL,
    SAYS_NO_LABELS,
    SAYS_NO_NAME,
    SAYS_NO_ENGINE,
    SAYS_NO_PRICE,
    SAYS_NO_NODE_OF_OWN,
    SAYS_NODES_OF_OTHERS,
    SAYS_NODES_END,
    SAYS_NODES_END_EARLY, /* limit_ms, left_ms */
    /* too little is free: fits, needed; and what is free */
    SAYS_SHORT, /* types */
    SAYS_SHORT_TOGETHER,
    SAYS_SHORT_NODES,
    SAYS_SHORT_PORT,
    /* too little is there: the same */
    SAYS_NEVER_TOGETHER,
    SAYS_NEVER_NODES,
    SAYS_NEVER_PORT,
    SAYS_NEVER_ON_ONE, /* free: on the largest */
    SAYS_NEVER_IN_ALL,
    SAYS_NEVER_UNITS,
    SAYS_NEVER_MIX,
    /* domains: level, domain; fits, needed */
    SAYS_NO_LEVEL,
    SAYS_NO_DOMAIN,
    SAYS_DOMAIN_TOGETHER,
    SAYS_DOMAIN_NODES,
    SAYS_DOMAIN_SHORT, /* pieces: it is enough, in pieces */
    SAYS_DOMAIN_NEVER, /* the same */
    /* nothing is short by counting */
    SAYS_NO_ARRANGEMENT,
    SAYS_NO_CLUSTER,
    WAIT_SAYS_N
};
enum amount_kind { AMOUNT_MILLI, AMOUNT_BYTES, AMOUNT_COUNT };

struct wait_reason { /* wait_words.h puts it into words */
    enum wait_why why;
    enum wait_says says;
    enum amount_kind amounts; /* of all that is said of the resource */
    bool one_device, units;   /* it is short on one device; what fits are units of several tasks */
    bool narrowed, pieces;
    bool beside, not_found; /* the other tasks have their places; and other places may be better */
    bool back_up;           /* as below: drained, else lost */
    uint32_t fits, needed, short_roles;
    uint32_t
        n_back; /* nodes that are lost or drained, with which it would fit; 0: that is not said */
    uint32_t
        together; /* so many jobs start together, and bundle_name is what this is of; 0: alone */
    uint64_t free, used, limit_ms, left_ms;
    const char *asked, *there, *types, *closest, *back, *queue_name, *bundle_name;
    const char *resource; /* "gpu" "cpu" "memory" "port 8080" "label zone=a" or a custom name */
    uint64_t need, best, short_by, total; /* milli for cpu and gpu, bytes for memory */
    const char *node;                     /* that comes closest */
    const char *role;
    uint32_t ahead;
    uint32_t queue;   /* QUOTA, USER */
    uint64_t blocker; /* RESERVED, AHEAD: whose turn it is; 0: nobody's */
    uint64_t of;      /* of jobs that start together: whose tasks do not fit; 0: its own */
    uint64_t until_ms;
    uint64_t at_ms; /* it starts by then as far as limits of run time say; of QUOTA and USER
                       without a RESERVE: its share is free by then; 0: not known */
    const char *level, *domain; /* TOPOLOGY: "rack", "r3"; the domain is "" when none is named */
};

/* A waiting job, and behind it those that ask for exactly the same: same queue, user and priority,
 * and equal in everything placing looks at (job_shape()). What keeps the first keeps them all. */
struct sched_job {
    uint64_t id; /* its upper bits say since when it waits (job/ids.h) */
    const struct job_spec *spec;
    const uint64_t *alike; /* ids of those behind it, oldest first */
    size_t n_alike;
    uint32_t queue, user;   /* positions in the snapshot */
    uint64_t not_before_ms; /* back-off; 0: none */
    bool blocked_after;
    uint64_t bundle;      /* jobs of one number start together or none; 0: by itself */
    uint32_t bundle_size; /* how many of them wait */
    uint64_t promised_ms; /* it was told to start by then; 0: nothing was said yet */
    bool claims;          /* others were ended for it: it comes before all that have no claim */
};
/* A job that holds something. */
struct sched_running {
    uint64_t id;
    struct held_places held;
    struct vector demand; /* vector_of_job() of it */
    uint64_t bid_milli;   /* of a spot job */
    uint32_t queue, user;
    uint64_t started_ms, saved_ms; /* saved: its last checkpoint; 0: unknown */
    uint64_t ends_ms;              /* by its limit; 0: it has none */
    bool leaving;                  /* is being ended: gone by ends_ms */
    bool idle;                     /* runs on capacity that nobody was sure of, and may lose it */
    bool preemptible;              /* these two as its spec says */
    uint8_t priority;
};
struct sched_user {
    uint32_t queue;
    uint64_t usage; /* decayed, in hours of a millionth of the cluster */
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
    const struct sched_job *jobs; /* in any order; ties go to the earlier one */
    size_t n_jobs;
    const struct sched_more *more;
    size_t n_more;
    const struct sched_running *running;
    size_t n_running;
    const struct queue_spec *queues; /* none: one queue without limits */
    size_t n_queues;
    const struct sched_user *users; /* none: one user */
    size_t n_users;
    /* Look at no more than so many blocked jobs; the rest gets WAIT_AHEAD; 0: 256. */
    uint32_t depth;
    uint64_t run_ms; /* taken for the run time of jobs without a limit; 0: a day */
};

#define PLAN_RIGHT_FIRST 128u
enum plan_kind { PLAN_ADMIT, PLAN_MORE, PLAN_EVICT, PLAN_RESERVE, PLAN_WAIT };
struct plan_entry {
    enum plan_kind kind;
    uint64_t job;
    /* ADMIT: the tasks in flat order; all, or at least the least of an elastic job. MORE: those
     * asked for, in their order (attempt 0); some of them when the job is elastic. */
    struct task_place *tasks;
    uint32_t n_tasks;
    uint64_t at_ms; /* RESERVE: starts by then; EVICT: gone by then */
    uint64_t by;    /* EVICT: the job it makes room for, 0: its bid is too low; RESERVE: whose end
                       it rests on */
    uint32_t right; /* ADMIT, MORE, RESERVE: rank_right() of its turn; PLAN_RIGHT_FIRST: before all
                       that wait */
    bool idle;      /* ADMIT: on capacity that its queue is not sure of and does not count */
    struct wait_reason
        reason; /* WAIT; MORE: of those that found no place, WAIT_NONE when all did */
};
struct plan {
    struct plan_entry *at; /* MORE and ADMIT in the order of turns, then WAIT, EVICT, RESERVE */
    size_t n;
};

#endif
