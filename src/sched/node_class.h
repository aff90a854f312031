/* Node classes: the nodes of a cluster by equal state, so that a decision looks at states, not at
 * nodes.
 *
 * Nodes in one class are of one kind, equally usable, and have the same amounts and devices free:
 * for a unit of tasks that asks for nothing else (no port, no name, nobody to keep apart from), one
 * of them is as good as the other, and the lowest is taken. What a node was before plays no part.
 */
#ifndef SCHED_NODE_CLASS_H
#define SCHED_NODE_CLASS_H

#include "base/hash_index.h"
#include "sched/class_ranking.h"
#include "sched/potential.h"

#define POSITION_NONE UINT32_MAX

struct node_class {
    uint32_t kind;
    bool usable;
    uint32_t idle;                   /* devices nobody uses */
    uint32_t most;                   /* free of the freest device, milli */
    uint64_t cpu, memory, disk, gpu; /* free */
    uint64_t asked, units;           /* what the group of that stamp was told last (choice.c) */
    uint32_t first, n;               /* the lowest node in it; how many */
    uint32_t root;                   /* of the tree of its nodes: any of them, for a look */
    uint32_t before, after;          /* classes of the same level */
    uint32_t state;                  /* for the potential; POSITION_NONE without one */
    uint32_t serial;                 /* of its making */
    uint32_t next;                   /* of the spare ones */
    uint64_t hash;
};

/* Classes stand on levels by what devices have free: none, parts of one, so many whole ones. Who
 * needs devices begins on the level where they are to be had. */
#define NODE_CLASS_PARTS  16u
#define NODE_CLASS_LEVELS 32u

struct node_classes {
    uint32_t *users; /* sets that share at, by_state, of .. right and free_milli */
    struct node_class *at;
    uint32_t n, cap, spare;             /* slots; the first free one */
    uint32_t levels[NODE_CLASS_LEVELS]; /* the first class of each; they are in no order */
    struct hash_index by_state;
    uint32_t *of, *left, *right; /* of each node: its class; its children in the class's tree */
    uint16_t *free_milli;        /* of each device, those of a node sorted downwards */
    uint32_t *dirty, n_dirty;    /* nodes that changed since they were put in their class */
    uint8_t *is_dirty;
    uint32_t n_nodes, n_kinds;
    size_t n_devices;
    bool stale; /* made anew on the next look: nodes came, or all of them changed */
    uint64_t stamps;
    struct potential *potential;      /* not owned; NULL: none */
    struct class_rankings *rankings;  /* by price, made when asked for; NULL: none yet */
    uint32_t *made, n_made, made_cap; /* classes in the order of their making: since rankings are */
    uint32_t n_live;
    uint64_t *kind_asked; /* per kind: twice the stamp of the last group that asked, + 1: fits */
};

struct node_classes *node_classes_create(void);
/* Most copies are never looked at: they share what they hold until one of them is. */
struct node_classes *node_classes_copy(const struct node_classes *);
void node_classes_destroy(struct node_classes *);

/* From now on classes have their states in it. Not owned, and shared by copies; NULL: none. */
void node_classes_price(struct node_classes *, struct potential *);
/* What is remembered of ranks, good for the potential as it is. */
struct class_rankings *node_classes_rankings(struct node_classes *);
/* The node's state is not what it was. */
static inline void node_classes_touch(struct node_classes *s, uint32_t node)
{
    if (s->stale || s->is_dirty[node])
        return;
    s->is_dirty[node] = 1;
    s->dirty[s->n_dirty++] = node;
}
void node_classes_forget(struct node_classes *); /* all of it is to be made anew */
/* The lowest level on which a node with so many whole devices, or so much of one, can be. */
uint32_t node_class_level(uint32_t whole, uint32_t milli);
/* The class after this one, from that level up; both from and to POSITION_NONE at the ends. */
uint32_t node_classes_next(const struct node_classes *, uint32_t at, uint32_t level);
/* The next node of the class after this one, or POSITION_NONE. */
uint32_t node_classes_after(const struct node_classes *, const struct node_class *, uint32_t node);

/* ---- bringing it up to date (classify.c) ---- */

/* Empty, for so many nodes, devices and kinds. */
void node_classes_begin(struct node_classes *, uint32_t nodes, size_t devices, uint32_t kinds);
void node_classes_own(struct node_classes *); /* what it holds is its own now, to be changed */
/* The node leaves its class, which goes with its last node. */
void node_classes_take_off(struct node_classes *, uint32_t node);
/* A class of that state that has no node yet; its position. */
uint32_t node_classes_add(struct node_classes *, const struct node_class *state);
void node_classes_put_on(struct node_classes *, uint32_t at, uint32_t node);

#endif
