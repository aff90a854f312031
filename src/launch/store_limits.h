/* What a store takes: of a request, of all clients together. */
#ifndef LAUNCH_STORE_LIMITS_H
#define LAUNCH_STORE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct store_limits {
    size_t key_max, value_max, keys_per_call, total_bytes;
    unsigned connections;
    uint64_t hello_ms; /* a connection that has not sent the magic by then is closed */
};

#endif
