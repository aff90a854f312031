/* Shelves: the nodes of a cluster by equal state, so that a decision looks at states, not at nodes.
 *
 * Nodes on one shelf are of one kind, equally usable, and have the same amounts and devices free:
 * for a unit of tasks that asks for nothing else (no port, no name, nobody to keep apart from), one
 * of them is as good as the other, and the lowest is taken. What a node was before plays no part.
 */
#ifndef SCHED_SHELF_H
#define SCHED_SHELF_H

#include "base/hash_index.h"
#include "sched/front.h"
#include "sched/kinds.h"
#include "sched/potential.h"

#define SHELF_NONE UINT32_MAX

struct shelf {
    uint32_t kind;
    bool usable;
    uint32_t idle;                   /* devices nobody uses */
    uint32_t most;                   /* free of the freest device, milli */
    uint64_t cpu, memory, disk, gpu; /* free */
    uint64_t asked, units;           /* what the group of that stamp was told last (choice.c) */
    uint32_t first, n;               /* the lowest node on it; how many */
    uint32_t root;                   /* of the tree of its nodes: any of them, for a look */
    uint32_t before, after;          /* shelves of the same level */
    uint32_t state;                  /* for the potential; SHELF_NONE without one */
    uint32_t serial;                 /* of its making */
    uint32_t next;                   /* of the spare ones */
    uint64_t hash;
};

/* Shelves stand on levels by what devices have free: none, parts of one, so many whole ones. Who
 * needs devices begins on the level where they are to be had. */
#define SHELF_PARTS  16u
#define SHELF_LEVELS 32u

struct shelves {
    uint32_t *users; /* sets that share at, by_state, of .. right and free_milli */
    struct shelf *at;
    uint32_t n, cap, spare;        /* slots; the first free one */
    uint32_t levels[SHELF_LEVELS]; /* the first shelf of each; they are in no order */
    struct hash_index by_state;
    uint32_t *of, *left, *right; /* of each node: its shelf; its children in the shelf's tree */
    uint16_t *free_milli;        /* of each device, those of a node sorted downwards */
    uint32_t *dirty, n_dirty;    /* nodes that changed since they were put on their shelf */
    uint8_t *is_dirty;
    uint32_t n_nodes;
    bool stale; /* made anew on the next look: nodes came, or all of them changed */
    uint64_t stamps;
    struct potential *potential;      /* not owned; NULL: none */
    struct fronts *fronts;            /* by price, made when asked for; NULL: none yet */
    uint32_t *made, n_made, made_cap; /* shelves in the order of their making: since fronts are */
    uint32_t n_live;
    uint64_t *kind_asked; /* per kind: twice the stamp of the last group that asked, + 1: fits */
};

struct cluster;
struct shelves *shelves_create(void);
/* Most copies are never looked at: they share what they hold until one of them is. */
struct shelves *shelves_copy(const struct shelves *, const struct layout *);
void shelves_destroy(struct shelves *);

/* All shelves of the cluster as it is now. They are kept by the cluster and brought up to date
 * here, so this is needed after every change and before every look; valid until the next change. */
struct shelves *shelves_of(const struct cluster *);
/* To copy, not to look at: up to date when that costs no copy. */
const struct shelves *shelves_to_copy(const struct cluster *);
uint64_t shelves_stamp(const struct cluster *); /* for a group that will ask */
/* From now on shelves have their states in it. Not owned, and shared by copies; NULL: none. */
void shelves_price(struct shelves *, struct potential *);
/* What is remembered of ranks, good for the potential as it is. */
struct fronts *shelves_fronts(struct shelves *);
/* The node's state is not what it was. */
static inline void shelves_touch(struct shelves *s, uint32_t node)
{
    if (s->stale || s->is_dirty[node])
        return;
    s->is_dirty[node] = 1;
    s->dirty[s->n_dirty++] = node;
}
void shelves_forget(struct shelves *); /* all of it is to be made anew */
/* The lowest level on which a node with so many whole devices, or so much of one, can be. */
uint32_t shelf_level(uint32_t whole, uint32_t milli);
/* The shelf after this one, from that level up; both from and to SHELF_NONE at the ends. */
uint32_t shelves_next(const struct shelves *, uint32_t at, uint32_t level);
/* The next node on the shelf after this one, or SHELF_NONE. */
uint32_t shelves_after(const struct shelves *, const struct shelf *, uint32_t node);

#endif
