/* A clock that goes on with CLOCK_BOOTTIME, over restarts of the server and of the machine,
 * whatever the wall clock is set to: what the records keep of it. It began as the wall clock's time
 * of the first server on these records; when the machine was started anew only the wall clock can
 * say for how long it was away. */
#ifndef CLOCK_STEADY_CLOCK_H
#define CLOCK_STEADY_CLOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

struct clock_start {
    int64_t base_ms;  /* the clock - CLOCK_BOOTTIME */
    bool rebooted;    /* since the last server here: the machine was away, */
    uint64_t away_ms; /* for so long by the wall clock */
};
/* From the records, which get it too, committed; never before their newest event. boot: the
 * kernel's boot_id; up_ms: CLOCK_BOOTTIME. */
int clock_resume(struct store *, const char *boot, uint64_t wall_ms, uint64_t up_ms,
                 struct clock_start *, struct err *);
/* What the records say, for a replay of them. false: they are older. */
bool clock_recorded(struct store *, int64_t *base_ms);
struct clock_pair {   /* both clocks, read together */
    const char *boot; /* as above */
    int64_t base_ms, wall_ms, now_ms;
};
/* Into the open transaction. */
int clock_record(struct store *, const struct clock_pair *, struct err *err);

#endif
