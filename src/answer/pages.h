/* The long lists of one job, a page at a time: its tasks, up to 65,536, and its timeline, for which
 * as many events are looked at. Who answers leaves them out of what it asks answer_job_view
 * for, and reads them between what else there is to do. Each page is as the rows are when it is
 * read. */
#ifndef ANSWER_PAGES_H
#define ANSWER_PAGES_H

#include "ctl/ctl.h"

struct answer_pages;
/* Of a job that the reader may read. NULL: its row cannot be read. */
struct answer_pages *answer_pages_open(struct ctl *, uint64_t job, const char *reader,
                                       struct err *);
void answer_pages_close(struct answer_pages *); /* NULL does nothing */

/* Each reads the next page in that arena, in work of half a millisecond or so; it may be an empty
 * one. 1: there is more; 0: that was the last; -1: the job is gone. */
struct task_list;
struct event_list;
int answer_pages_tasks(struct answer_pages *, struct arena *, struct task_list *, struct err *);
int answer_pages_timeline(struct answer_pages *, struct arena *, struct event_list *, struct err *);

#endif
