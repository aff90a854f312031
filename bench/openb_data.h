/* The openb experiment: nodes and tasks as their files say, and the order in which tasks arrive. */
#ifndef BENCH_OPENB_DATA_H
#define BENCH_OPENB_DATA_H

#include "base/dice.h"
#include "base/err.h"
#include "sched/mix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODELS = 64, GPUS = 64 };

struct models {
    char *names[MODELS];
    uint32_t n;
};
struct host {             /* amounts are free ones */
    uint64_t cpu, memory; /* milli, MiB */
    uint32_t model, n;
    uint16_t gpu[GPUS]; /* milli free of each */
};
struct task {
    char *name;
    uint64_t cpu, memory, models; /* models: 0 any */
    uint32_t n, milli;            /* of each of n */
    uint32_t shape;               /* position among the distinct ones */
};
struct trace {
    struct models models;
    struct host *hosts;
    size_t n_hosts;
    uint64_t capacity; /* milli-GPU */
    struct task *tasks;
    size_t n_tasks;
    struct task *shapes; /* distinct ones, in order of appearance */
    uint32_t *counts;    /* tasks of each */
    size_t n_shapes;
};
int trace_read(struct trace *, const char *nodes, const char *list, struct err *);
void trace_fini(struct trace *);
/* Random order of the nodes; seed 0 leaves them. */
void trace_permute(struct trace *, uint64_t seed);

static inline uint64_t task_gpu(const struct task *t)
{
    return (uint64_t)t->n * t->milli;
}
static inline bool task_shares(const struct task *t)
{
    return t->n == 1 && t->milli < DEVICE_MILLI;
}

uint64_t random_below(struct dice *, uint64_t k);

struct sequence {
    const struct task **at;
    size_t n;
    uint64_t sum; /* milli-GPU */
};
/* Shuffled, then filled up or thinned to 130 % of the capacity. */
void sequence_init(struct sequence *, const struct trace *, uint64_t seed);
void sequence_fini(struct sequence *);

#endif
