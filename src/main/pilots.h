/* Allocations of Slurm: what engine/slurm has no right to. Rows, nodes of the engine of machines,
 * jobs that have to leave, and muster-node packed for batch scripts. */
#ifndef MAIN_PILOTS_H
#define MAIN_PILOTS_H

#include "api/pilot_calls.h"
#include "engine/engine.h"
#include "main/agents.h"

struct ctl;
struct link_hub;
struct uv_loop_s;

struct pilot_nodes_config {
    struct uv_loop_s *loop;
    struct link_hub *link;
    struct ctl *ctl;
    struct engine *machines;                     /* has their nodes */
    struct engine_sink sink;                     /* for news of nodes that are to come */
    struct agents *const *agents;                /* where hosts connect, once it is open */
    int (*open_agents)(void *arg, struct err *); /* it is to be, when it is not */
    void (*leave_agents)(void *arg);             /* no pilot needs it any more */
    void *open_arg;
    const char *prefix;                             /* of Slurm's commands; "": none */
    const char *own;                                /* what the server's account is called */
    const char *program, *node_program, *state_dir; /* program: this one */
};
/* Why no nodes can be asked of Slurm by a server with that prefix; NULL: they can. In arena. */
const char *pilot_nodes_none(struct arena *, const char *prefix);
/* Why a server of root's with that prefix, which asks Slurm for nodes, asks for none for jobs of
 * other accounts; NULL: it does. In arena. */
const char *pilot_nodes_none_of_users(struct arena *, const char *prefix);
struct pilot_nodes;
/* Those of the records are known from here on: before the core recovers. NULL. */
struct pilot_nodes *pilot_nodes_create(const struct pilot_nodes_config *, struct err *);
void pilot_nodes_begin(struct pilot_nodes *);     /* after it has */
bool pilot_nodes_any(const struct pilot_nodes *); /* is one of them not over? */
void pilot_nodes_look(struct pilot_nodes *);      /* jobs want other allocations than before */
void pilot_nodes_destroy(struct pilot_nodes *);   /* before the core; NULL-safe */
struct api_pilots pilot_nodes_served(struct pilot_nodes *);

#endif
