/* The pilots of a server: submitted, looked at, given back; which nodes of them join, come and go.
 * What it has no right to is done by its owner: rows, nodes, tasks. */
#ifndef ENGINE_SLURM_PILOTS_H
#define ENGINE_SLURM_PILOTS_H

#include "engine/slurm/coming.h"
#include "engine/slurm/commands.h"
#include "engine/slurm/pilot.h"
#include "link/link.h"

struct uv_loop_s;

struct pilots_sink { /* from the loop */
    /* The row of that pilot is to be what it is now. done: from the loop, once that is committed or
     * cannot be; NULL: nobody waits for it. */
    void (*keep)(void *arg, const struct pilot *, void (*done)(void *done_arg, bool kept),
                 void *done_arg);
    void (*drop)(void *arg, const char *pilot); /* its row goes */
    /* A host may connect as that node; lasts: milliseconds that jobs there may have, when has_end.
     */
    void (*add)(void *arg, const struct pilot *, const struct pilot_host *);
    void (*limit)(void *arg, const struct pilot_host *, uint64_t lasts_ms);
    void (*remove)(void *arg, const struct pilot_host *);
    bool (*reached)(void *arg, const char *node); /* its host is connected */
    bool (*taken)(void *arg, const char *node);   /* there is a node of that name */
    uint32_t (*tasks)(void *arg, const char *node);
    /* No task there any more; those that run end with their grace, and wait again. */
    void (*vacate)(void *arg, const struct pilot *, const char *why);
    void (*expect)(void *arg, const struct coming_node *);
    /* Of allocations that jobs have for themselves something changed, or sinfo has answered. */
    void (*own)(void *arg);
    /* Its batch script, with that token. 1; 0: not yet; -1. */
    int (*script)(void *arg, const struct pilot *, const char *join, struct buf *out, struct err *);
    void *arg;
};
struct pilots_config {
    struct uv_loop_s *loop;
    struct link_hub *link;  /* outlives them */
    struct slurm_site site; /* only for the call */
    uint64_t pace_ms;       /* until a node that is silent is started again; 0: a default */
    struct pilots_sink sink;
};
struct pilots;
struct pilots *pilots_create(const struct pilots_config *);
void pilots_destroy(struct pilots *); /* allocations go on; NULL-safe */

/* One of the records, taken over; its nodes are added. Before the core recovers. */
void pilots_load(struct pilots *, struct pilot *);
void pilots_begin(struct pilots *); /* after it has */
/* One that is in the records now, taken over. join: its token, hex. */
void pilots_start(struct pilots *, struct pilot *, const char *join);
/* Given back: its jobs end with their grace, at most for a minute; now: at once. false: there is
 * none of that name, or it is over. */
bool pilots_stop(struct pilots *, const char *name, const char *by, bool now);

/* The same for a reason of its owner's. */
bool pilots_give_back(struct pilots *, const char *name, const char *why, bool now);

/* What sinfo said last; NULL: nothing yet, it is asked and sink.own follows. */
const char *pilots_sinfo(struct pilots *);
/* The own allocation that was asked for last for that job; NULL: none. */
const struct pilot *pilots_of_job(const struct pilots *, uint64_t job);

/* By name, then by when they were made; NULL: no more. */
const struct pilot *pilots_at(const struct pilots *, size_t i);
const struct pilot *pilots_find(const struct pilots *, const char *name);
/* Whose is that node of this server? NULL: none's. */
const struct pilot *pilots_of_node(const struct pilots *, const char *node);
const char *pilots_trouble(const struct pilots *); /* why Slurm cannot be asked; "": it can */
uint64_t pilots_count(const struct pilots *);      /* that are not over */

#endif
