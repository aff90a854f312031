/* What a rendezvous says during one call: orders for members, and news. It goes out at the end of
 * the call, when the state is whole, so that a sink may call into the rendezvous again. */
#ifndef RDZV_ORDERS_H
#define RDZV_ORDERS_H

#include "base/arena.h"
#include "base/vec.h"
#include "rdzv/order.h"

struct rdzv_output { /* one order or piece of news that waits for the end of the call */
    bool is_news;
    union {
        struct rdzv_order order;
        struct rdzv_notice news;
    };
};
struct orders {
    struct rdzv_sink sink;
    struct arena *memory; /* texts and lists of the current call */
    VEC(struct rdzv_output) all;
    unsigned depth;
};
void orders_init(struct orders *, struct rdzv_sink);
void orders_fini(struct orders *);
void orders_open(struct orders *);
void orders_close(struct orders *);

/* Its texts and lists live as long as those of the call. */
void orders_put(struct orders *, const struct rdzv_order *);
void orders_stop(struct orders *, uint64_t member, uint64_t term, uint32_t round,
                 const char *cause);
void orders_end(struct orders *, uint64_t member, const struct rdzv_end *);
void orders_refuse(struct orders *, uint64_t member, enum rdzv_refusal, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void orders_news(struct orders *, enum rdzv_notice_kind, uint64_t member, uint32_t round,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
