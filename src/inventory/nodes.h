/* Nodes that come, change and leave while the server runs: machines. What engines say of them goes
 * into the planner's accounting (sched/cluster.h) and into rows, so that a server that starts anew
 * knows them before they have come back; which of them cannot be reached, and since when, is kept
 * here. Each keeps its position for ever, so that a recording can begin anywhere. It writes into
 * the open transaction and knows no core. */
#ifndef INVENTORY_NODES_H
#define INVENTORY_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct amounts;
struct arena;
struct closed_devices;
struct cluster;
struct engine_fact;
struct gpu_report;
struct node_spec;
struct store;

struct nodes_config { /* all of it outlives the nodes */
    struct store *store;
    struct cluster *cluster;
    struct closed_devices *devices; /* told of devices of machines that fail */
    const struct amounts *prices;   /* node_price.h */
    size_t n_declared;              /* the first so many of the cluster are of the configuration */
    void *arg;
    uint64_t (*now)(const void *arg), (*date)(const void *arg); /* by what is decided; wall clock */
    void (*read)(void *arg); /* there are machines, as the records say: shares are of others */
    void (*changed)(
        void *arg); /* one came, is another, or left: so are all shares, and what fits */
};
struct nodes;
struct nodes *nodes_create(const struct nodes_config *);
void nodes_destroy(struct nodes *); /* NULL-safe */

/* ---- the turn's part ---- */
/* As the records say: which machines there are, whether they can be reached, drained flags. */
void nodes_load(struct nodes *);
void nodes_committed(struct nodes *); /* what was written since is in the records */
void nodes_undone(struct nodes *);    /* it is not: as they say */

/* ---- what is said of them; false: there is no such node, and nothing was done ---- */
/* FACT_NODE_UP, FACT_NODE_DOWN, FACT_NODE_GONE. */
bool nodes_hear(struct nodes *, const struct engine_fact *);
bool nodes_drain(struct nodes *, const char *node, bool drain);
/* It has those devices of the report that have a slot, never fewer than before. The report outlives
 * the nodes. */
bool nodes_report(struct nodes *, const char *node, struct gpu_report *);
/* Of one that cannot be reached; of others nothing is noted. */
void nodes_note(struct nodes *, const char *node, const char *note);

/* ---- reading ---- */
/* Is there any machine, reached or not? They do not see this server's disk. */
bool nodes_have_machines(const struct nodes *);
struct node_outage {   /* a node that cannot be reached */
    uint64_t since_ms; /* wall clock */
    const char *why;
    const char *note; /* what was tried since; "": nothing. Not in the records */
};
/* NULL: it can be. Until the next fact of it. */
const struct node_outage *nodes_away(const struct nodes *, const char *node);
bool nodes_any_away(const struct nodes *);
/* "WHY; NOTE", in arena. */
const char *nodes_why(struct arena *, const struct node_outage *);
/* The date of a time by the core's clock that has been. */
uint64_t nodes_dated(const struct nodes *, uint64_t at_ms);
/* In arena, but for its report. NULL of NULL. */
const struct node_spec *nodes_copy(struct arena *, const struct node_spec *);

#endif
