/* The core's two clocks. core_now() is what is decided by: milliseconds that go on with
 * CLOCK_BOOTTIME, whatever the wall clock is set to. It began as the wall clock's time of the first
 * server on these records, and goes on over restarts of the server; when the machine was started
 * anew only the wall clock can say for how long it was away. core_date() is the wall clock's, for
 * what people read. Neither is ever computed from the other, but for a date that is to come. */
#ifndef CTL_CLOCK_H
#define CTL_CLOCK_H

#include "clock/steady_clock.h"
#include "ctl/ctl.h"

#include <stdbool.h>
#include <stdint.h>

/* The event that the machine was away for so long, by the wall clock; once, after the core has
 * recovered. */
void clock_tell_reboot(struct ctl *, uint64_t away_ms);

#endif
