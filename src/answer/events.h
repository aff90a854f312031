/* Events as answers, in the words that their reader may have. */
#ifndef ANSWER_EVENTS_H
#define ANSWER_EVENTS_H

#include "answer/views.h"

struct arena;
struct ctl;
struct err;

struct event_query {
    const char *reader;  /* told of other jobs only what it may read; NULL: everything */
    uint64_t job, after; /* job 0: of all, also of those that the reader may not read */
    size_t limit;
};
/* 0, or -1 with err. */
int answer_events_view(struct ctl *, struct arena *, const struct event_query *,
                       struct event_list *, struct err *);

#endif
