/* Jobs leave the records: at once for whoever looks, their rows a slice at a time. */
#ifndef STORE_DELETION_H
#define STORE_DELETION_H

#include "store/store.h"

/* The job, and an array's members, are not there from now on: neither they nor their ids and
 * numbers come again. Their tasks, attempts, agents, events and the rows of members are what is
 * left to store_delete_rest(), also of the next server. */
int store_delete_job(struct store *, uint64_t job, struct err *);
/* Removes what deletions left, so many rows at most (a member counts as several). */
struct deleted_rest {
    struct arena *arena;
    uint32_t rows;     /* in: at most; out: not needed. 0: there may be more */
    uint64_t *numbers; /* of members whose rows went */
    size_t n, cap;
};
int store_delete_rest(struct store *, struct deleted_rest *, struct err *);
/* Deletes expired idempotency rows, at most STORE_EXPIRE_MAX a call, and finished jobs past their
 * keep time (ids in arena), at most STORE_EXPIRE_JOBS. */
#define STORE_EXPIRE_MAX  1000
#define STORE_EXPIRE_JOBS 100
int store_expire(struct store *, struct arena *, uint64_t now_ms, uint64_t **jobs, size_t *n,
                 struct err *);

#endif
