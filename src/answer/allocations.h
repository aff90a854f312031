/* Which jobs are to have an allocation of their own (ctl/allocations.h), for whoever asks their
 * cluster for nodes. */
#ifndef ANSWER_ALLOCATIONS_H
#define ANSWER_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct ctl;
struct job_spec;

struct allocation_request {
    uint64_t job, number;
    const char *owner, *queue;
    const struct job_spec *spec; /* the core's own, until the next turn */
    bool alone;                  /* its account's own, and nobody else's (answer_account_of_job) */
    bool begun;                  /* it has tasks in an allocation */
    bool lacks;                  /* it has nodes, and they are too few for it: */
    const char *reason;          /* what the last plan said then; NULL: nothing */
    bool ran;                    /* its tasks have had a place before */
};
struct allocation_requests {
    struct allocation_request *at; /* in arena, by id */
    size_t n;
};
/* All that are to have one now: one that has, and is not here, gives it back. */
struct allocation_requests answer_allocations(struct ctl *, struct arena *);

#endif
