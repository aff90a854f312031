#include "ctl/reasons.h"

#include "base/mem.h"
#include "ctl/core.h"

static const char *const words[] = {
    [WAIT_RESOURCE] = "resource",     [WAIT_PORTS] = "ports",       [WAIT_LABELS] = "labels",
    [WAIT_AHEAD] = "ahead",           [WAIT_TIME] = "time",         [WAIT_AFTER] = "after",
    [WAIT_NODES_DOWN] = "nodes_down", [WAIT_QUOTA] = "quota",       [WAIT_USER] = "user",
    [WAIT_RESERVED] = "reserved",     [WAIT_EVICTING] = "evicting", [WAIT_PENDING] = "pending",
    [WAIT_TOPOLOGY] = "topology",
};

const char *reason_word(enum wait_why why)
{
    return why < ARRAY_LEN(words) ? words[why] : NULL;
}

const char *reason_text(struct ctl *ctl, struct arena *arena, const struct wait_reason *reason)
{
    const struct live_job *job = reason->blocker ? live_find(ctl->live, reason->blocker) : NULL;
    if (reason->why != WAIT_RESERVED || !job)
        return reason->text;
    return arena_printf(arena, "there is room, and job %llu (%.80s) was promised it",
                        (unsigned long long)job->row.number, job->row.name);
}
