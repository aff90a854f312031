/* Why no node takes a task now, counted over the nodes: what the scheduler finds and front ends put
 * into words. */
#ifndef JOB_UNFIT_H
#define JOB_UNFIT_H

#include <stddef.h>
#include <stdint.h>

enum unfit_kind {
    UNFIT_RESOURCE, /* too little of `name` is free: "cpu" "memory" "disk" "gpu" or a custom one */
    UNFIT_PORT,     /* ports by number that are taken, or no free ones left */
    UNFIT_NODE,     /* not the name, label or device type asked for */
    UNFIT_APART,    /* another task of the job is there that keeps apart */
    UNFIT_DRAINED,
    UNFIT_DOWN
};
struct unfit {
    enum unfit_kind kind;
    const char *name; /* UNFIT_RESOURCE, else "" */
    uint32_t nodes;
};
struct unfits {
    uint32_t nodes;       /* in all; a node with two reasons counts under both */
    uint32_t role, index; /* the first task that finds no place when those before it have theirs */
    struct unfit *at;
    size_t n; /* 0: every task finds a place */
};

#endif
