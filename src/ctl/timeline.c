/* A job's timeline out of its events, read a page at a time. Which kinds of events belong to it is
 * decided here. */
#include "ctl/timeline.h"

#include <string.h>

static bool tells(const struct text_node *event)
{
    const struct text_node *type = text_get(event, "type");
    if (strncmp(type->str, "task.", 5) != 0)
        return true;
    return strcmp(type->str, "task.retry") == 0 || strcmp(type->str, "task.failed") == 0 ||
           strcmp(type->str, "task.port") == 0;
}

int timeline_put(struct ctl *ctl, struct arena *arena, struct timeline *line, size_t look,
                 struct text_node *list)
{
    const struct ctl_events ask = {
        .reader = line->reader, .job = line->job, .after = line->after, .limit = look
    };
    const struct text_node *page = ctl_events_tree(ctl, arena, &ask, NULL);
    for (const struct text_node *one = page ? page->first : NULL; one; one = one->next) {
        line->after = (uint64_t)text_get(one, "seq")->integer;
        if (!tells(one) || line->told == TIMELINE_MAX)
            continue;
        text_copy(arena, list, NULL, one);
        line->told++;
    }
    return page && page->count == look && line->told < TIMELINE_MAX;
}
