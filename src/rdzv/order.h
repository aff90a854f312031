/* What goes out of a rendezvous, to whom, and what it is limited by: orders for members, news for
 * the job's events. */
#ifndef RDZV_ORDER_H
#define RDZV_ORDER_H

#include "job/rendezvous.h"

#include <stdbool.h>
#include <stdint.h>

enum rdzv_phase { RDZV_GATHER, RDZV_CHECK, RDZV_RUN, RDZV_STOPPING, RDZV_OVER };

enum rdzv_order_kind {
    RDZV_ORDER_WELCOME = 1,
    RDZV_ORDER_ROUND,
    RDZV_ORDER_CHECK,
    RDZV_ORDER_STOP,
    RDZV_ORDER_END,
    RDZV_ORDER_REFUSED,
    RDZV_ORDER_NOTE
};
struct rdzv_order { /* texts and lists live until the next call into the rendezvous */
    uint64_t to;    /* member */
    enum rdzv_order_kind kind;
    union {
        struct rdzv_welcome welcome;
        struct rdzv_round round;
        struct rdzv_check check;
        struct rdzv_stop stop;
        struct rdzv_end end;
        struct rdzv_refused refused;
        struct rdzv_finding note;
    };
};
/* What happened, for the job's events and the log. */
enum rdzv_notice_kind {
    RDZV_NOTICE_JOINED = 1, /* a member came */
    RDZV_NOTICE_ROUND,      /* a round began */
    RDZV_NOTICE_FAILED,     /* a rank died */
    RDZV_NOTICE_LOST,       /* a member is gone */
    RDZV_NOTICE_CHECK,      /* one node's figures, or a verdict */
    RDZV_NOTICE_OVER
};
struct rdzv_notice {
    enum rdzv_notice_kind kind;
    uint64_t member; /* 0: all */
    uint32_t round;
    const char *text; /* one sentence, complete */
};
struct rdzv_sink {
    void (*order)(void *arg, const struct rdzv_order *);
    void (*news)(void *arg, const struct rdzv_notice *); /* may be NULL */
    void *arg;
};

struct rdzv_limits {
    uint32_t beat_ms;    /* 1000 */
    uint32_t silence_ms; /* 2500; 0: members are lost only by rdzv_lost (inside a job) */
    uint32_t resume_ms;  /* how long a claim's other members are waited for */
    bool surplus;     /* there are more members than a round takes: who comes when all is done need
                       * not take part */
    bool share_nodes; /* members with the same node name share that machine */
    uint32_t stop_ms; /* a member that was told STOP and does not answer so long is lost; 0:
                       * never */
};

#endif
