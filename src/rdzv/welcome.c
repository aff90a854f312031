/* What members are told that wait: WELCOME when they come, and again, not too often, when it has
 * changed what is waited for. */
#include "rdzv/welcome.h"

#include "rdzv/deadline.h"
#include "rdzv/state.h"

#include <stdio.h>
#include <string.h>

#define WAITING_EVERY_MS 500u /* n members that each tell n others would be n * n messages */

static void describe(const struct rdzv *rdzv, char out[SENTENCE])
{
    const struct rdzv_settings *settings = &rdzv->settings;
    uint32_t here = rdzv->members.parts[PART_WAITING];
    switch (rdzv->phase) {
    case RDZV_GATHER:
        if (settings->min == settings->max)
            (void)snprintf(out, SENTENCE, "%u of %u nodes", here, settings->max);
        else
            (void)snprintf(out, SENTENCE, "%u of %u to %u nodes", here, settings->min,
                           settings->max);
        break;
    case RDZV_CHECK:
        (void)snprintf(out, SENTENCE, "%zu node%s to end the node check", rdzv->check.n,
                       rdzv->check.n == 1 ? "" : "s");
        break;
    case RDZV_RUN:
        (void)snprintf(out, SENTENCE, "round %u runs on %zu nodes; a place there", rdzv->round,
                       rdzv->places.n);
        break;
    case RDZV_STOPPING:
        (void)snprintf(out, SENTENCE, "the end of round %u: %.400s", rdzv->round, rdzv->cause);
        break;
    case RDZV_OVER: (void)snprintf(out, SENTENCE, "nothing: the job is over"); break;
    }
}

void welcome_describe(struct rdzv *rdzv)
{
    char text[SENTENCE];
    describe(rdzv, text);
    if (strcmp(text, rdzv->waiting) != 0) {
        (void)snprintf(rdzv->waiting, sizeof rdzv->waiting, "%s", text);
        rdzv->waiting_changed = true;
    }
}

void welcome_send(struct rdzv *rdzv, const struct member *member)
{
    struct rdzv_order order = { .to = member->id, .kind = RDZV_ORDER_WELCOME };
    order.welcome = (struct rdzv_welcome){
        .term = rdzv->term,
        .beat_ms = rdzv->limits.beat_ms,
        /* Who runs waits for nothing. */
        .waiting =
            member->part == PART_IN_ROUND ? "" : arena_strdup(rdzv->orders.memory, rdzv->waiting),
    };
    orders_put(&rdzv->orders, &order);
}

void welcome_waiting(struct rdzv *rdzv, uint64_t now_us)
{
    welcome_describe(rdzv);
    if (!rdzv->waiting_changed || rdzv->members.parts[PART_WAITING] == 0 ||
        now_us < deadline_after(rdzv->waiting_us, WAITING_EVERY_MS))
        return;
    rdzv->waiting_changed = false;
    rdzv->waiting_us = now_us;
    for (size_t i = 0; i < rdzv->members.all.n; i++)
        if (rdzv->members.all.at[i]->part == PART_WAITING)
            welcome_send(rdzv, rdzv->members.all.at[i]);
}

uint64_t welcome_due(const struct rdzv *rdzv)
{
    if (!rdzv->waiting_changed || rdzv->members.parts[PART_WAITING] == 0)
        return UINT64_MAX;
    return deadline_after(rdzv->waiting_us, WAITING_EVERY_MS);
}
