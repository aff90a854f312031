/* Nodes that come, change and leave while the core runs: machines. Each keeps its position for
 * ever, so that a recording can begin anywhere. */
#ifndef CTL_NODES_H
#define CTL_NODES_H

#include "ctl/away_view.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct engine_fact;
struct node_spec;

/* FACT_NODE_UP, FACT_NODE_DOWN, FACT_NODE_GONE. */
void nodes_hear(struct ctl *, const struct engine_fact *);
/* As the records say: which machines there are, whether they can be reached, drained flags. */
void nodes_load(struct ctl *);

struct node_outage {   /* a node that cannot be reached */
    uint64_t since_ms; /* wall clock */
    const char *why;
    const char *note; /* what was tried since; "": nothing. Not in the records */
};
/* Is there any, reached or not? They do not see this server's disk. */
bool nodes_have_machines(const struct ctl *);
/* In arena, but for its report. NULL of NULL. */
struct arena;
const struct node_spec *nodes_copy(struct arena *, const struct node_spec *);
/* Of one that cannot be reached; of others nothing is noted. */
void nodes_note(struct ctl *, const char *node, const char *note);
/* "WHY; NOTE", in arena. */
const char *nodes_why(struct arena *, const struct node_outage *);
/* Those that have an agent of the job, in arena. */
struct live_job;
struct away_list nodes_away_of(const struct ctl *, struct arena *, const struct live_job *);
/* NULL: it can be. Until the next fact of it. */
const struct node_outage *nodes_away(const struct ctl *, const char *node);

#endif
