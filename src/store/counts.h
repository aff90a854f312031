/* How many jobs the records have in each state, kept beside them: whoever asks for it, as /metrics
 * does, would have all of them counted each time. Internal to store/. */
#ifndef STORE_COUNTS_H
#define STORE_COUNTS_H

#include "store/find.h"

struct counts { /* of struct store */
    struct job_counts now, committed;
    bool known; /* they have been counted; else each question counts */
};

/* Counts all of them, once, when the records are opened. */
void counts_load(struct store *);
/* Before the row is written. -1: its row cannot be read. */
int counts_update(struct store *, const struct job_row *, struct err *);
/* Before it is deleted, with the members of an array. */
int counts_delete(struct store *, uint64_t job, struct err *);
void counts_put(struct store *, const struct job_row *);
void counts_committed(struct store *);
void counts_undone(struct store *);

#endif
