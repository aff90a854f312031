/* What a rendezvous says. Everything said during one call is kept until its end and goes out in
 * order; a sink that calls back in (a leader whose own member answers at once) finds a whole state,
 * and what that call says goes out after what was said before. Texts lie in the call's arena. */
#include "rdzv/orders.h"

#include <stdarg.h>
#include <stdio.h>

void orders_init(struct orders *orders, struct rdzv_sink sink)
{
    *orders = (struct orders){ .sink = sink, .memory = arena_create() };
}

void orders_fini(struct orders *orders)
{
    vec_fini(&orders->all);
    arena_destroy(orders->memory);
}

void orders_open(struct orders *orders)
{
    if (orders->depth++ == 0) {
        arena_reset(orders->memory);
        vec_clear(&orders->all);
    }
}

void orders_close(struct orders *orders)
{
    if (orders->depth == 1) {
        for (size_t i = 0; i < orders->all.n; i++) {
            struct rdzv_output told =
                orders->all.at[i]; /* a call from the sink may move the list */
            if (!told.is_news)
                orders->sink.order(orders->sink.arg, &told.order);
            else if (orders->sink.news)
                orders->sink.news(orders->sink.arg, &told.news);
        }
    }
    orders->depth--;
}

void orders_put(struct orders *orders, const struct rdzv_order *order)
{
    vec_push(&orders->all, ((struct rdzv_output){ .order = *order }));
}

__attribute__((format(printf, 2, 0))) static const char *say(struct orders *orders, const char *fmt,
                                                             va_list ap)
{
    char text[RDZV_TEXT_MAX + 1];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    return arena_strdup(orders->memory, text);
}

void orders_news(struct orders *orders, enum rdzv_notice_kind kind, uint64_t member, uint32_t round,
                 const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct rdzv_notice news = { .kind = kind, .member = member, .round = round };
    news.text = say(orders, fmt, ap);
    va_end(ap);
    vec_push(&orders->all, ((struct rdzv_output){ .is_news = true, .news = news }));
}

void orders_stop(struct orders *orders, uint64_t member, uint64_t term, uint32_t round,
                 const char *cause)
{
    struct rdzv_order order = { .to = member, .kind = RDZV_ORDER_STOP };
    order.stop = (struct rdzv_stop){ .term = term,
                                     .round = round,
                                     .cause = arena_strdup(orders->memory, cause) };
    orders_put(orders, &order);
}

void orders_refuse(struct orders *orders, uint64_t member, enum rdzv_refusal why, const char *fmt,
                   ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct rdzv_order order = { .to = member, .kind = RDZV_ORDER_REFUSED };
    order.refused = (struct rdzv_refused){ .why = why, .text = say(orders, fmt, ap) };
    va_end(ap);
    orders_put(orders, &order);
}

void orders_end(struct orders *orders, uint64_t member, const struct rdzv_end *end)
{
    struct rdzv_order order = { .to = member, .kind = RDZV_ORDER_END, .end = *end };
    orders_put(orders, &order);
}
