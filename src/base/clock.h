/* The two clocks: wall time for people and records, monotonic time for measuring. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_wall_ms(void); /* milliseconds since 1970 UTC */
uint64_t clock_mono_ms(void);
uint64_t clock_mono_us(void);

#endif
