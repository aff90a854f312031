/* Topology: nodes in domains, domains in wider domains, as labels of the nodes say. */
#ifndef SCHED_TOPOLOGY_H
#define SCHED_TOPOLOGY_H

#include "base/err.h"
#include "sched/form.h"

#define DOMAIN_NONE UINT32_MAX

struct domain {
    const char *name; /* value of the label */
    uint32_t outer;   /* domain one level further out; DOMAIN_NONE: none, or not said */
    uint32_t at, n;   /* its nodes within the level's list */
};
struct level {
    const char *name; /* of the label */
    uint32_t *of;     /* domain of each node; DOMAIN_NONE: its labels do not say */
    struct domain *domains;
    uint32_t n;
    uint32_t *nodes; /* by domain, ascending */
};
struct topology {
    struct arena *arena;
    struct level *levels; /* outermost first; after the last one, the nodes themselves */
    uint32_t n;           /* without those */
};

struct topology *topology_create(struct forms, const struct words *levels);
void topology_destroy(struct topology *); /* NULL-safe */
/* ERR_INPUT when a domain lies in two wider ones, or the levels cannot be. */
int topology_check(const struct topology *, struct forms, struct err *);
/* Position of the level; the number of levels for "node"; DOMAIN_NONE when unknown. */
uint32_t topology_level(const struct topology *, const char *name);

#endif
