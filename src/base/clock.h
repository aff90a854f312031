/* The clocks: the wall clock for dates; for spans of time CLOCK_BOOTTIME, which nobody sets and
 * which goes on while the machine sleeps; and what this thread used of a processor. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_wall_ms(void); /* milliseconds since 1970 UTC */
uint64_t clock_mono_ms(void);
uint64_t clock_mono_us(void);
uint64_t clock_thread_us(void); /* a system call, the others are none */

#endif
