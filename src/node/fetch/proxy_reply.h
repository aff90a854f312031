/* One reply of skopeo as a server ("experimental-image-proxy"), as it stands in its packet. Pure:
 * text in, struct out. */
#ifndef NODE_FETCH_PROXY_REPLY_H
#define NODE_FETCH_PROXY_REPLY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROXY_REPLY_MAX (32u << 10) /* bytes: the largest packet that it sends */
#define PROXY_ERROR_MAX 1024u

struct proxy_reply {
    bool good;
    uint64_t number;             /* its value as a number; 0 where it is none */
    unsigned version[2];         /* its value as "MAJOR.MINOR.PATCH"; 0 where it is none */
    uint32_t pipe;               /* whose end is told by this number; 0: it has no pipe */
    char error[PROXY_ERROR_MAX]; /* why it is not good, what did not fit cut off in front */
};
/* ERR_SYSTEM: it is no such reply. *out is written only on success. */
int proxy_reply_read(const char *text, size_t len, struct proxy_reply *out, struct err *err);

#endif
