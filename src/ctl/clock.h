/* The core's two clocks. core_now() is what is decided by: milliseconds that go on with
 * CLOCK_BOOTTIME, whatever the wall clock is set to. It began as the wall clock's time of the first
 * server on these records, and goes on over restarts of the server; when the machine was started
 * anew only the wall clock can say for how long it was away. core_date() is the wall clock's, for
 * what people read. Neither is ever computed from the other, but for a date that is to come. */
#ifndef CTL_CLOCK_H
#define CTL_CLOCK_H

#include "ctl/ctl.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

struct clock_start {
    int64_t base_ms;  /* core_now() - CLOCK_BOOTTIME */
    bool rebooted;    /* since the last server here: the machine was away, */
    uint64_t away_ms; /* for so long by the wall clock */
};
/* From the records, which get it too, committed; never before their newest event. boot: the
 * kernel's boot_id; up_ms: CLOCK_BOOTTIME. */
int clock_resume(struct store *, const char *boot, uint64_t wall_ms, uint64_t up_ms,
                 struct clock_start *, struct err *);
/* What the records say, for a replay of them. false: they are older. */
bool clock_recorded(struct store *, int64_t *base_ms);
/* The event that says so; once, after the core has recovered. */
void clock_tell_reboot(struct ctl *, uint64_t away_ms);

#endif
