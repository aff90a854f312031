/* What comes into the core, told in order: enough to run it again through the same code. A tape
 * that records writes inputs down; one that replays gives the core what was written instead of
 * letting it look outside. */
#ifndef CTL_TAPE_H
#define CTL_TAPE_H

#include "ctl/ctl.h"
#include "ctl/input.h"

/* What is not in the records and has to be the same in a replay. */
struct ctl_constants {
    const char *admin;
    uint64_t created_ms;
    unsigned caps;
};
struct ctl_constants ctl_about(const struct ctl *);
/* A pass although nothing calls for one: brings up to date what a start from the records would find
 * out anew. */
void ctl_plan(struct ctl *);
/* Nothing is under way that the records do not say: a copy of them starts the same core. meetings:
 * how many rendezvous there are, which no record knows. */
bool ctl_at_rest(const struct ctl *, size_t *meetings);
/* An event of no job whose cause is not on the tape: in a replay only its type is known. */
void ctl_server_event(struct ctl *, const char *type, const char *text, ctl_done *, void *arg);
/* The time of the last input. */
uint64_t ctl_last_ms(const struct ctl *);
uint64_t ctl_last_us(const struct ctl *);
/* All nodes there are or were, by position; until the next turn. */
size_t ctl_tape_nodes(const struct ctl *, struct arena *, struct node_spec **);
/* Of each node's host where ports are looked for next (0: from the start); n: all nodes. */
void ctl_port_marks(const struct ctl *, uint32_t *marks);
void ctl_set_port_marks(struct ctl *, const uint32_t *marks, size_t n);

#endif
