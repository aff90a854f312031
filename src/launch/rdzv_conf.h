/* --rdzv-conf K=V,...: what is in it for this launcher. */
#ifndef LAUNCH_RDZV_CONF_H
#define LAUNCH_RDZV_CONF_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct rdzv_conf {
    bool has_join, has_last_call, has_rank, has_beat;
    uint64_t join_ms, last_call_ms;
    uint32_t rank;
    uint32_t beat_ms, silence_ms; /* of the keep_alive keys, with torch's defaults for the other */
    const char *token;            /* NULL: none */
    bool meet_endpoint;           /* meet=endpoint: not through the agent */
};
/* say: one sentence for each key that has no effect here. Errors are ERR_LATE (flags.h). */
int rdzv_conf_read(const char *text, struct arena *, struct rdzv_conf *,
                   void (*say)(void *arg, const char *sentence), void *arg, struct err *err);

#endif
