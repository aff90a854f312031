/* Bytes on their way, from or to whatever holds them. */
#ifndef SHIP_STREAM_H
#define SHIP_STREAM_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct byte_source {
    ssize_t (*read)(void *arg, void *to, size_t n, struct err *); /* 0: the end; -1 */
    void *arg;
};
struct byte_sink {
    int (*write)(void *arg, const void *data, size_t n, struct err *); /* all of it, or -1 */
    void *arg;
};

#endif
