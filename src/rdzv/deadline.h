/* Moments after others. A limit may be as large as its type holds, for one that is not meant. */
#ifndef RDZV_DEADLINE_H
#define RDZV_DEADLINE_H

#include <stdint.h>

/* Milliseconds after a moment, never past the end of time. */
static inline uint64_t deadline_after(uint64_t us, uint64_t ms)
{
    if (ms > UINT64_MAX / 1000 || us > UINT64_MAX - ms * 1000)
        return UINT64_MAX;
    return us + ms * 1000;
}

#endif
