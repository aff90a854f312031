/* What lists show of a job beside its row: one statement for each job of a page, however much of it
 * is shown. */
#ifndef STORE_LIST_ROW_H
#define STORE_LIST_ROW_H

#include "store/store.h"

/* What lists show of a job beside its row, in one look: its last event, what is kept for it as an
 * object of that kind and name (NULL: nothing), and one of its texts. 1, 0 (no such job), -1. Not
 * of records in memory, nor of members of arrays. */
enum said_text { SAID_SPEC, SAID_ORIGIN, SAID_MASKED };
struct said_ask {
    uint64_t job;
    const char *kind, *name;
    enum said_text text;
};
struct said_row {
    uint64_t last;
    const char *object, *text; /* text NULL: there is none of that sort */
};
int store_get_said(struct store *, struct arena *, const struct said_ask *, struct said_row *,
                   struct err *);

#endif
