/* Words for the reasons that the scheduler gives. A reason that is about a job which the reader may
 * not see is replaced by one that names nobody. */
#include "ctl/wait_texts.h"

#include "ctl/core.h"
#include "depend/wording.h"
#include "inventory/closed_devices.h"
#include "sched/wait_words.h"

#include <string.h>

bool reason_is_of_nodes(enum wait_why why)
{
    switch (why) {
    case WAIT_RESOURCE:
    case WAIT_PORTS:
    case WAIT_LABELS:
    case WAIT_TOPOLOGY:
    case WAIT_NODES_DOWN: return true;
    default: return false;
    }
}

struct sentence reason_text(struct ctl *ctl, struct arena *arena, const struct job_spec *spec,
                            const struct wait_reason *reason)
{
    const struct live_job *job = reason->blocker ? live_find(ctl->live, reason->blocker) : NULL;
    const char *closed = reason->resource && strcmp(reason->resource, "gpu") == 0
                             ? closed_for_job(ctl->closed_devices, arena, spec, reason->role)
                             : NULL;
    const char *text = wait_text(arena, reason);
    if (closed && text)
        return (struct sentence){ .text =
                                      arena_printf(arena, "%s; not given out: %s", text, closed) };
    if (reason->why != WAIT_RESERVED || !job)
        return (struct sentence){ .text = text };
    struct draft *said = ARENA_NEW(arena, struct draft);
    draft_init(said);
    draft_add(said, "there is room, and ");
    draft_job(said, &job->row);
    draft_add(said, " was promised it");
    return draft_said(said);
}

bool reason_hidden(const struct ctl *ctl, const struct reader *reader, uint64_t of)
{
    const struct live_job *other = of ? live_find(ctl->live, of) : NULL;
    return other && !reader_may(reader, &other->row);
}

struct sentence reason_of(const struct ctl *ctl, const struct reader *reader,
                          const struct live_job *job)
{
    bool alone = job->waits && !job->line;
    if (alone && reason_hidden(ctl, reader, job->why.of))
        return (struct sentence){ .text = REASON_HIDDEN };
    return live_reason(job);
}
