/* The queues that a catalogue declares, on a cluster: their tree, their shares in amounts, and what
 * is wrong with them. Pure. */
#ifndef QUEUE_TREE_H
#define QUEUE_TREE_H

#include "base/map.h"
#include "job/catalogue.h"
#include "sched/cluster.h"
#include "sched/quota.h"

struct queue_problem {
    const char *queue, *field; /* where it is declared; field NULL: nowhere in particular */
    const char *what, *hint;
    bool family;   /* it is of all queues with the same parent together */
    bool of_nodes; /* other nodes might mend it */
};
struct queue_tree {
    struct arena *arena;      /* of all of it, also of the names */
    struct queue_spec *specs; /* parents before children, siblings by name */
    enum entry_kind *kinds;
    uint32_t *depths;
    size_t n;
    struct string_map *by_name; /* name -> &specs[i] */
    struct vector total;        /* all nodes, also lost and drained ones */
    struct queue_problem *problems;
    size_t n_problems;
};
/* topology: labels of nodes that cells may be counted in, outermost first; NULL: none. A queue
 * that makes no sense (an unknown parent, a circle) stands below the cluster. There always is a
 * queue "default". */
struct queue_tree *queue_tree_make(const struct catalogue *, const struct cluster *,
                                   const struct words *topology);
void queue_tree_destroy(struct queue_tree *); /* NULL-safe */
/* "" or NULL: the default one, and so is an unknown one. */
uint32_t queue_tree_position(const struct queue_tree *, const char *name);
/* What usable nodes have together. */
struct vector queue_tree_usable(const struct cluster *);
/* "2 gpu", "1.5 cpu", "64Gi of memory" */
const char *queue_amount(char out[64], int resource, uint64_t amount);

/* The three amounts by number: cpu, memory, gpu. */
enum { QUEUE_CPU, QUEUE_MEMORY, QUEUE_GPU, QUEUE_AMOUNTS };
uint64_t *queue_part(struct vector *, int resource);
int queue_resource(const char *name); /* "cpu" "memory" "gpu" */
uint64_t queue_amount_of(const struct vector *, int resource);

/* ---- between tree.c and check.c ---- */
void queue_problem(struct queue_tree *, struct queue_problem);
void queue_tree_check(struct queue_tree *, const struct entry *const *entries);

#endif
