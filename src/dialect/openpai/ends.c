/* From who ended an attempt, and how, to the code of an exit specification.
 *
 * Inputs: how an attempt ended, as the agent reports it. Effects: none. */
#include "dialect/openpai/ends.h"

#include <signal.h>

static int limit_code(const struct openpai_ends *ends, const struct ending *e)
{
    return e->oom || e->cause == CAUSE_MEMORY ? ends->oom : ends->time;
}

static int platform_code(const struct openpai_ends *ends, const struct ending *e)
{
    if (e->lost)
        return ends->node_lost;
    return e->cause == CAUSE_NODE_FULL ? ends->node_full : ends->launch;
}

static bool killed(const struct ending *e)
{
    return e->exited ? e->code == SIGNALS_FROM + SIGKILL : e->signal == SIGKILL;
}

int openpai_end_code(const struct openpai_ends *ends, const struct ending *e)
{
    switch (e->by) {
    case BY_USER: return ends->stopped;
    case BY_POLICY: return ends->completed;
    case BY_CONFLICT: return ends->port;
    case BY_LIMIT: return limit_code(ends, e);
    case BY_PLATFORM: return platform_code(ends, e);
    case BY_KERNEL: return ends->oom;
    default: break;
    }
    if (e->lost)
        return ends->node_lost;
    if (e->oom && killed(e))
        return ends->oom;
    if (e->exited || e->signal > 0)
        return ends->own(e);
    return e->by == BY_ITSELF ? ends->wrong : ends->unknown; /* never ran */
}

const struct openpai_exit *openpai_exit_listed(const struct openpai_exit *rows, size_t n, int code)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].code == code)
            return &rows[i];
    return NULL;
}
