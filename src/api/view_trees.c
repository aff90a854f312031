/* Views of the core as trees, for façades that read them by names.
 *
 * Inputs: the core. Effects: none. */
#include "api/view_trees.h"

#include "ctl/view_tables.h"
#include "ctl/views.h"

struct text_node *tree_of_job(struct ctl *ctl, struct arena *arena, const struct job_ask *ask,
                              struct err *err)
{
    struct job_view view;
    if (ctl_job_view(ctl, arena, ask, &view, err))
        return NULL;
    if ((ask->parts & TREE_TASKS_EMPTY) && !view.members)
        view.task_list.at = ARENA_NEW(arena, struct task_view);
    return view_put(arena, NULL, NULL, VIEW_JOB, &view);
}

void trees_of_tasks(struct arena *arena, struct text_node *list, const struct task_list *tasks)
{
    for (size_t i = 0; i < tasks->n; i++)
        view_put(arena, list, NULL, VIEW_TASK, &tasks->at[i]);
}

void trees_of_events(struct arena *arena, struct text_node *list, const struct event_list *events)
{
    for (size_t i = 0; i < events->n; i++)
        view_put(arena, list, NULL, VIEW_EVENT, &events->at[i]);
}

struct text_node *tree_of_events(struct ctl *ctl, struct arena *arena, const struct ctl_events *ask,
                                 struct err *err)
{
    struct event_list events;
    if (ctl_events_view(ctl, arena, ask, &events, err))
        return NULL;
    struct text_node *list = text_list(arena, NULL, NULL);
    trees_of_events(arena, list, &events);
    return list;
}
