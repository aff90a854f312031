/* For the tests of this folder: clusters and jobs in a few words, and plans as text. */
#ifndef SCHED_TEST_WORLD_H
#define SCHED_TEST_WORLD_H

#include "sched/plan.h"

#define GI (UINT64_C(1) << 30)

struct world {
    struct arena *arena;
    struct cluster *cluster;
};
struct world world_create(const struct node_spec *nodes,
                          size_t n); /* up to the first without a name */
void world_destroy(struct world *);

/* A job of the roles up to the first without a name; min, names and lists as given. */
struct job_spec *world_job(struct arena *, const struct role *roles, size_t n);
/* Takes on the cluster what the entry says. */
bool world_take(struct cluster *, const struct job_spec *, const struct plan_entry *);
void world_give(struct cluster *, const struct job_spec *, const struct plan_entry *);
/* "worker/0@n1[0,1]:15000 ..." (devices and ports only where there are any), or the text of the
 * reason. */
const char *world_show(struct arena *, const struct job_spec *, const struct plan_entry *);
/* What the job would do now. */
struct plan_entry world_try(struct world *, const struct job_spec *);

#define WORDS(...)                                                                                 \
    {                                                                                              \
        .at = (const char *[]){ __VA_ARGS__ },                                                     \
        .n = sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *)                        \
    }
#define PAIR(k, v)                                                                                 \
    {                                                                                              \
        .at = (struct pair[]){ { .name = (k), .value = (v) } }, .n = 1                             \
    }

#endif
