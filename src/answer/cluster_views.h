/* What the core answers of nodes, what is free, queues and its own figures. Lists lie in the arena
 * that was asked with; texts are the core's own and hold until its next turn. */
#ifndef ANSWER_CLUSTER_VIEWS_H
#define ANSWER_CLUSTER_VIEWS_H

#include "base/pairs.h"
#include "job/job.h"
#include "job/state.h"
#include "job/words.h"
#include "sched/quota.h"

struct arena;
struct ctl;
struct err;
struct text_node;

enum node_state { NODE_DOWN, NODE_DRAINED, NODE_UP };
const char *node_state_word(enum node_state);
struct gpu_parts { /* thousandths that are free of each device */
    const uint64_t *at;
    size_t n;
};
struct node_answer {
    const char *name, *address, *host, *gpu_type, *gpu_driver, *gpu_error;
    enum node_state state;
    const char *engine; /* "local", "machines", "slurm" */
    uint64_t lasts_ms;  /* jobs there may last so long, as it was said last; 0: without end */
    const char *why;    /* it is down; NULL: it is not, or nobody knows */
    uint64_t since_ms;  /* when it went down; 0: it is not */
    bool declared;      /* as the configuration says, not measured */
    uint64_t cpu_milli, cpu_used_milli, memory, memory_used, disk, disk_used, gpus, gpu_used_milli,
        gpu_idle, tasks;
    struct gpu_parts gpu_free;
    struct pairs labels;
    struct amounts custom;
    const struct text_node *devices; /* what their driver says of each; NULL: declared */
    const struct text_node *images;  /* the stores of images there; NULL: not known */
};
struct node_list {
    struct node_answer *at;
    size_t n;
};
/* As many whole devices as can be had together, largest blocks first: a node with 7 idle ones has
 * one of 4, one of 2 and one of 1. */
enum { FREE_BLOCKS = 4 };
struct free_sum { /* of nodes that are up and not drained */
    uint64_t cpu_milli, memory, gpu_milli, idle;
    uint64_t blocks[FREE_BLOCKS]; /* of free_block_sizes */
};
extern const uint32_t free_block_sizes[FREE_BLOCKS]; /* 8, 4, 2, 1 */
struct nodes_view {
    struct node_list nodes; /* in the cluster's order */
    struct free_sum free;
};
struct nodes_view answer_nodes_view(struct ctl *, struct arena *);

struct queue_user_view {
    const char *name; /* other users: together, those whose jobs the reader may not read */
    uint64_t usage, running, waiting;
    struct vector held, cap; /* cap: VECTOR_ANY, no bound */
};
struct queue_user_list { /* at NULL: was not asked for */
    struct queue_user_view *at;
    size_t n;
};
struct queue_head {
    const char *name, *owner,
        *reason; /* owner, reason NULL and number 0: not the reader's to know */
    uint64_t number, priority, since_ms;
};
struct queue_view {
    const char *name, *kind, *parent, *strategy; /* parent NULL: the cluster */
    uint64_t depth, weight, running, waiting;
    bool reclaim;
    struct vector guaranteed;            /* zero: nothing */
    struct vector maximum, user_maximum; /* UINT64_MAX: no bound */
    struct vector used, borrowed;
    uint64_t states[JOB_STATE_N];   /* of its own live jobs */
    const struct queue_head *first; /* that waits; NULL: none does */
    struct queue_user_list users;
};
struct queue_list {
    struct queue_view *at;
    size_t n;
};
struct queues_view {
    struct queue_list queues;
    struct vector total;
    struct words warnings;
};
/* With a name only that one, with its users. Jobs and users that are not the reader's to see are
 * there without their names; NULL: all have them. */
int answer_queues_view(struct ctl *, struct arena *, const char *reader, const char *name,
                       struct queues_view *, struct err *);

struct plan_times { /* in microseconds; passes not longer than each bound, and longer than the last
                     */
    uint64_t last_us, sum_us, count;
    const uint64_t *bounds, *bins;
    size_t n;
};
struct stats_view {
    uint64_t jobs[JOB_STATE_N];
    uint64_t live, waiting, nodes, nodes_up, cpu_milli, cpu_used_milli, memory, memory_used, gpus,
        gpu_used_milli;
    uint64_t turns, commits, commits_failed, facts, events, plans, submitted;
    uint64_t evicted, promised, late;
    struct plan_times plan_time;
    bool storage_full;
};
struct stats_view answer_stats_view(struct ctl *);

#endif
