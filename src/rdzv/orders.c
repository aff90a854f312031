/* What a rendezvous says. Everything said during one call is kept until its end and goes out in
 * order; a sink that calls back in (a leader whose own member answers at once) finds a whole state,
 * and what that call says goes out after what was said before. Texts lie in the call's arena. */
#include "rdzv/state.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WAITING_EVERY_MS 500u /* n members that each tell n others would be n * n messages */

void orders_open(struct rdzv *rdzv)
{
    if (rdzv->depth++ == 0) {
        arena_reset(rdzv->memory);
        vec_clear(&rdzv->outbox);
    }
}

void orders_close(struct rdzv *rdzv)
{
    if (rdzv->depth == 1) {
        for (size_t i = 0; i < rdzv->outbox.n; i++) {
            struct rdzv_output told =
                rdzv->outbox.at[i]; /* a call from the sink may move the list */
            if (!told.is_news)
                rdzv->sink.order(rdzv->sink.arg, &told.order);
            else if (rdzv->sink.news)
                rdzv->sink.news(rdzv->sink.arg, &told.news);
        }
    }
    rdzv->depth--;
}

void orders_put(struct rdzv *rdzv, const struct rdzv_order *order)
{
    vec_push(&rdzv->outbox, ((struct rdzv_output){ .order = *order }));
}

__attribute__((format(printf, 2, 0))) static const char *say(struct rdzv *rdzv, const char *fmt,
                                                             va_list ap)
{
    char text[RDZV_TEXT_MAX + 1];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    return arena_strdup(rdzv->memory, text);
}

void orders_news(struct rdzv *rdzv, enum rdzv_notice_kind kind, uint64_t member, const char *fmt,
                 ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct rdzv_notice news = { .kind = kind, .member = member, .round = rdzv->round };
    news.text = say(rdzv, fmt, ap);
    va_end(ap);
    vec_push(&rdzv->outbox, ((struct rdzv_output){ .is_news = true, .news = news }));
}

void orders_welcome(struct rdzv *rdzv, const struct member *member)
{
    struct rdzv_order order = { .to = member->id, .kind = RDZV_ORDER_WELCOME };
    order.welcome = (struct rdzv_welcome){
        .term = rdzv->term,
        .beat_ms = rdzv->limits.beat_ms,
        /* Who runs waits for nothing. */
        .waiting = member->part == PART_IN_ROUND ? "" : arena_strdup(rdzv->memory, rdzv->waiting),
    };
    orders_put(rdzv, &order);
}

void orders_stop(struct rdzv *rdzv, uint64_t member, uint32_t round, const char *cause)
{
    struct rdzv_order order = { .to = member, .kind = RDZV_ORDER_STOP };
    order.stop = (struct rdzv_stop){ .term = rdzv->term,
                                     .round = round,
                                     .cause = arena_strdup(rdzv->memory, cause) };
    orders_put(rdzv, &order);
}

void orders_refuse(struct rdzv *rdzv, uint64_t member, enum rdzv_refusal why, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct rdzv_order order = { .to = member, .kind = RDZV_ORDER_REFUSED };
    order.refused = (struct rdzv_refused){ .why = why, .text = say(rdzv, fmt, ap) };
    va_end(ap);
    orders_put(rdzv, &order);
}

void orders_end(struct rdzv *rdzv, uint64_t member, const struct rdzv_end *end)
{
    struct rdzv_order order = { .to = member, .kind = RDZV_ORDER_END, .end = *end };
    orders_put(rdzv, &order);
}

void orders_note(struct rdzv *rdzv, uint64_t member, uint64_t about, const char *text)
{
    struct rdzv_order order = { .to = member, .kind = RDZV_ORDER_NOTE };
    order.note = (struct rdzv_finding){ .term = rdzv->term,
                                        .about = about,
                                        .text = arena_strdup(rdzv->memory, text) };
    orders_put(rdzv, &order);
}

static void describe(const struct rdzv *rdzv, char out[SENTENCE])
{
    const struct rdzv_settings *settings = &rdzv->settings;
    uint32_t here = rdzv->parts[PART_WAITING];
    switch (rdzv->phase) {
    case RDZV_GATHER:
        if (settings->min == settings->max)
            (void)snprintf(out, SENTENCE, "%u of %u nodes", here, settings->max);
        else
            (void)snprintf(out, SENTENCE, "%u of %u to %u nodes", here, settings->min,
                           settings->max);
        break;
    case RDZV_CHECK:
        (void)snprintf(out, SENTENCE, "%zu node%s to end the node check", rdzv->node_check.n,
                       rdzv->node_check.n == 1 ? "" : "s");
        break;
    case RDZV_RUN:
        (void)snprintf(out, SENTENCE, "round %u runs on %zu nodes; a place there", rdzv->round,
                       rdzv->n_places);
        break;
    case RDZV_STOPPING:
        (void)snprintf(out, SENTENCE, "the end of round %u: %.400s", rdzv->round, rdzv->cause);
        break;
    case RDZV_OVER: (void)snprintf(out, SENTENCE, "nothing: the job is over"); break;
    }
}

void orders_describe(struct rdzv *rdzv)
{
    char text[SENTENCE];
    describe(rdzv, text);
    if (strcmp(text, rdzv->waiting) != 0) {
        (void)snprintf(rdzv->waiting, sizeof rdzv->waiting, "%s", text);
        rdzv->waiting_changed = true;
    }
}

void orders_waiting(struct rdzv *rdzv, uint64_t now_us)
{
    orders_describe(rdzv);
    if (!rdzv->waiting_changed || rdzv->parts[PART_WAITING] == 0 ||
        now_us < deadline_after(rdzv->waiting_us, WAITING_EVERY_MS))
        return;
    rdzv->waiting_changed = false;
    rdzv->waiting_us = now_us;
    for (size_t i = 0; i < rdzv->members.n; i++)
        if (rdzv->members.at[i]->part == PART_WAITING)
            orders_welcome(rdzv, rdzv->members.at[i]);
}

uint64_t orders_waiting_due(const struct rdzv *rdzv)
{
    if (!rdzv->waiting_changed || rdzv->parts[PART_WAITING] == 0)
        return UINT64_MAX;
    return deadline_after(rdzv->waiting_us, WAITING_EVERY_MS);
}
