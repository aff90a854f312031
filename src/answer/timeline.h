/* What a person wants to see of a job's life: its own events, and tasks that failed, came back or
 * were given other ports than they asked for; the first TIMELINE_MAX. */
#ifndef ANSWER_TIMELINE_H
#define ANSWER_TIMELINE_H

#include "ctl/ctl.h"

#define TIMELINE_MAX 500

struct timeline { /* how far it was read; zero at the beginning */
    uint64_t job;
    const char *reader; /* as in struct event_query */
    uint64_t after;     /* event */
    size_t told;
};
/* Looks at up to `look` more events: those of them that tell something. 1: there may be more; 0. */
struct event_list;
int timeline_read(struct ctl *, struct arena *, struct timeline *, size_t look,
                  struct event_list *);

#endif
