/* Who takes part in a turn: everything in memory that goes by rows. One table says how each of them
 * is read at the start, writes into the open transaction, and is as the rows say again after a
 * commit that failed. What is new and goes by rows is a row of the table, and nothing else. */
#ifndef CTL_PARTICIPANTS_H
#define CTL_PARTICIPANTS_H

#include <stddef.h>

struct ctl;
struct err;
struct participant { /* any function may be NULL */
    const char *name;
    int (*load)(struct ctl *, struct err *); /* from the rows, at the start of a server */
    void (*record)(struct ctl *);            /* before the commit: writes what has changed */
    void (*committed)(struct ctl *);         /* the rows are there, nobody was answered yet */
    void (*undo)(struct ctl *);              /* the commit failed: as the rows say */
};
const struct participant *participants(size_t *n);

/* Each in order; 0, or -1 from the first that cannot be loaded. */
int participants_load(struct ctl *, struct err *);
void participants_record(struct ctl *);
void participants_committed(struct ctl *);
/* The last first: what stands on something else is undone before it. */
void participants_undo(struct ctl *);

#endif
