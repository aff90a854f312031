/* The clocks. What goes on while the machine sleeps counts in spans of time, so those are of
 * CLOCK_BOOTTIME. Nothing that has to be repeatable reads a clock: it is given the time by its
 * caller. */
#include "base/clock.h"

#include <time.h>

static uint64_t us_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t clock_wall_ms(void)
{
    return us_of(CLOCK_REALTIME) / 1000u;
}

uint64_t clock_mono_ms(void)
{
    return us_of(CLOCK_BOOTTIME) / 1000u;
}

uint64_t clock_mono_us(void)
{
    return us_of(CLOCK_BOOTTIME);
}

uint64_t clock_thread_us(void)
{
    return us_of(CLOCK_THREAD_CPUTIME_ID);
}
