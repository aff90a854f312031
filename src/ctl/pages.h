/* The long lists of one job, a page at a time: its tasks, up to 65,536, and its timeline, for which
 * as many events are looked at. ctl_job_tree leaves them empty (CTL_TASKS_EMPTY,
 * CTL_TIMELINE_EMPTY), and who answers fills them between what else there is to do. Each page is as
 * the rows are when it is read. */
#ifndef CTL_PAGES_H
#define CTL_PAGES_H

#include "ctl/ctl.h"

struct ctl_pages;
/* Of a job that the reader may read. NULL: its row cannot be read. */
struct ctl_pages *ctl_pages_open(struct ctl *, uint64_t job, const char *reader, struct err *);
void ctl_pages_close(struct ctl_pages *); /* NULL does nothing */

/* Each adds the next page to a list in that arena, in work of half a millisecond or so. 1: there is
 * more; 0: that was the last; -1: the job is gone. */
int ctl_pages_tasks(struct ctl_pages *, struct arena *, struct text_node *list, struct err *);
int ctl_pages_timeline(struct ctl_pages *, struct arena *, struct text_node *list, struct err *);

#endif
