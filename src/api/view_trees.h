/* Views of the core as trees, for façades that read them by names. */
#ifndef API_VIEW_TREES_H
#define API_VIEW_TREES_H

#include "ctl/ctl.h"

enum { TREE_TASKS_EMPTY = 16 }; /* beside enum ctl_parts: the list is there and empty */
struct text_node *tree_of_job(struct ctl *, struct arena *, const struct job_ask *, struct err *);
struct text_node *tree_of_events(struct ctl *, struct arena *, const struct ctl_events *,
                                 struct err *); /* list */
struct task_list;
void trees_of_tasks(struct arena *, struct text_node *list, const struct task_list *);
void trees_of_events(struct arena *, struct text_node *list, const struct event_list *);

#endif
