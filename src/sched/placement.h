/* The tasks of one job on their way to places: what is asked, in which units, and what has been
 * taken so far. */
#ifndef SCHED_PLACEMENT_H
#define SCHED_PLACEMENT_H

#include "sched/demand.h"
#include "sched/snapshot.h"

struct group_task {
    const struct task_request *want;
    uint32_t place; /* position in places[] */
};

/* Tasks that are placed alike. A unit is one task of a role, or one share of each role of a
 * `together` set on one node. */
struct group {
    const char *name; /* "worker", "worker+ps" */
    struct member *members;
    size_t n_members;
    struct group_task *tasks; /* size a unit */
    uint32_t size, units;
    uint32_t least; /* units without which the job does not start */
    struct demand *demands;
    size_t n_demands;
    uint32_t pin; /* the only node, or UINT32_MAX */
    bool spread, apart;
    bool nothing; /* asks for no amount */
    bool has_ports, has_static_ports;
    bool picky;           /* of nodes in equal state one may be allowed and the other not */
    uint64_t stamp;       /* whose answers those are that classes remember */
    bool plain;           /* a unit asks for no more than the next five, and ports */
    uint64_t cpu, memory; /* the least that a node must have for a unit: a first look */
    uint32_t devices, share;
    uint32_t *on;   /* units per node; only with spread or apart */
    uint8_t *skip;  /* nodes on which a unit did not fit against the count; or NULL */
    uint32_t order; /* of making, for ties */
    uint32_t done;  /* units placed */
};

struct placed_task { /* taken, to be given back when the job does not fit */
    uint32_t node;
    struct group *group;
    const struct task_request *want;
    uint32_t place;
};

struct placement {
    struct arena *arena;
    struct cluster *cluster;
    const struct job_spec *job;
    struct group *groups; /* hardest to place first */
    size_t n_groups;
    struct task_place *places; /* roles in order, index ascending; or in the order asked for */
    uint32_t n_places;
    uint32_t *named; /* the nodes that the job names, ascending; NULL: it names none */
    uint32_t n_named;
    const uint32_t *among; /* the nodes in question, ascending; NULL: all of them */
    uint32_t n_among;
    const struct level *level; /* the domain they are in; NULL: no matter which */
    uint32_t domain;
    uint32_t anchor;           /* a node that has other tasks of the job, or POSITION_NONE */
    struct placed_task *seats; /* in the order they were taken */
    uint32_t n_seats;
    struct port_range *avoid; /* what the job wants by number: dynamic ports stay out of it */
    size_t n_avoid;
    bool elastic;    /* may start with fewer than all tasks */
    bool some_only;  /* tasks of a running job */
    bool trickles;   /* of one that goes on without them: any number of them helps */
    uint32_t *steps; /* what searching may still spend, shared by a pass; NULL: enough for one */
};

/* What placing all of a job comes to. */
enum gang_answer {
    GANG_PLACED,
    GANG_NO_ROOM,  /* certain: there is no arrangement */
    GANG_NOT_FOUND /* none was found, and the job is too large to be certain */
};

/* All tasks of a job, on this cluster (which placing changes). */
void placement_init(struct placement *, struct arena *, struct cluster *, const struct job_spec *);
/* Room for the places of each task: only for a job that is not short of anything by counting. */
void placement_room(struct placement *);
/* Only nodes of that domain are in question; NULL: of any. */
void placement_in_domain(struct placement *, const struct level *, uint32_t domain);
/* Some tasks of a running job; seated. */
/* So many tasks of the role the job cannot do without. */
uint32_t placement_least(const struct job_spec *, const struct role *);
void placement_init_more(struct placement *, struct arena *, struct cluster *,
                         const struct sched_more *);

#endif
