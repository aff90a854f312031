/* Handshake and finish are moments, which were set; keep-alive counts from what was heard last.
 * Whoever was stopped or swapped out for as long as the silence that ends a connection has not
 * looked at what came meanwhile, so that silence is nobody's fault but its own. */
#include "conn/deadlines.h"

void deadlines_init(struct deadlines *d, uint64_t now, uint64_t handshake_ms)
{
    *d = (struct deadlines){ .handshake_at = handshake_ms ? now + handshake_ms : UINT64_MAX,
                             .finish_at = UINT64_MAX,
                             .heard_at = now,
                             .looked_at = now };
}

void deadlines_keep_alive(struct deadlines *d, uint64_t now, uint64_t ask_ms, uint64_t silence_ms)
{
    d->ask_ms = ask_ms;
    d->silence_ms = silence_ms;
    d->heard_at = d->asked_at = d->looked_at = now;
}

/* When it is asked next: some time after it was heard or asked last. */
static uint64_t ask_at(const struct deadlines *d)
{
    return (d->asked_at > d->heard_at ? d->asked_at : d->heard_at) + d->ask_ms;
}

enum deadline deadlines_due(struct deadlines *d, uint64_t now)
{
    if (now >= d->finish_at)
        return DEADLINE_FINISH;
    if (now >= d->handshake_at)
        return DEADLINE_HANDSHAKE;
    if (d->ask_ms == 0)
        return DEADLINE_NONE;
    if (now - d->looked_at >= d->silence_ms)
        d->heard_at = now;
    d->looked_at = now;
    if (now - d->heard_at >= d->silence_ms)
        return DEADLINE_SILENCE;
    if (now < ask_at(d))
        return DEADLINE_NONE;
    d->asked_at = now;
    return DEADLINE_ASK;
}

uint64_t deadlines_next(const struct deadlines *d)
{
    uint64_t next = d->handshake_at < d->finish_at ? d->handshake_at : d->finish_at;
    if (d->ask_ms == 0)
        return next;
    uint64_t ask = ask_at(d), silence = d->heard_at + d->silence_ms;
    next = ask < next ? ask : next;
    return silence < next ? silence : next;
}
