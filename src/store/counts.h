/* How many jobs the records have in each state, kept beside them: whoever asks for it, as /metrics
 * does, would have all of them counted each time. Internal to store/. */
#ifndef STORE_COUNTS_H
#define STORE_COUNTS_H

#include "store/store.h"

/* Of a new row. */
void counts_put(struct store *, const struct job_row *);
/* Before the row is written. -1: its row cannot be read. */
int counts_update(struct store *, const struct job_row *, struct err *);
/* Before it is deleted, with the members of an array. */
int counts_delete(struct store *, uint64_t job, struct err *);

#endif
