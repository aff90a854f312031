/* A job's timeline out of its events, read a page at a time. Which kinds of events belong to it is
 * decided here. */
#include "answer/timeline.h"

#include "answer/events.h"

#include <string.h>

static bool tells(const struct event_view *event)
{
    if (strncmp(event->type, "task.", 5) != 0)
        return true;
    return strcmp(event->type, "task.retry") == 0 || strcmp(event->type, "task.failed") == 0 ||
           strcmp(event->type, "task.port") == 0;
}

int timeline_read(struct ctl *ctl, struct arena *arena, struct timeline *line, size_t look,
                  struct event_list *list)
{
    const struct event_query ask = {
        .reader = line->reader, .job = line->job, .after = line->after, .limit = look
    };
    *list = (struct event_list){ 0 };
    if (answer_events_view(ctl, arena, &ask, list, NULL))
        return 0;
    bool all = list->n < look;
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        line->after = list->at[i].seq;
        if (!tells(&list->at[i]) || line->told == TIMELINE_MAX)
            continue;
        list->at[kept++] = list->at[i];
        line->told++;
    }
    list->n = kept;
    return !all && line->told < TIMELINE_MAX;
}
