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

/* Is there any, reached or not? They do not see this server's disk. */
bool nodes_have_machines(const struct ctl *);
/* In arena, but for its report. NULL of NULL. */
struct arena;
const struct node_spec *nodes_copy(struct arena *, const struct node_spec *);
/* Of one that cannot be reached; of others nothing is noted. */
void nodes_note(struct ctl *, const char *node, const char *note);

#endif
