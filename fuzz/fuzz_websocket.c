/* Bytes as a client may send them after the upgrade: read without a fault, the same however they are
 * cut, and never a message that is larger than allowed or text that is none. */
#include "http/websocket.h"

#include "base/scan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What comes of the first `size` bytes, told one after the other into `said`. */
static int read_all(char *at, size_t size, struct buf *said)
{
    struct websocket w;
    struct websocket_message message;
    size_t used = 0, done = 0;
    int rc;
    websocket_init(&w);
    while ((rc = websocket_next(&w, at + done, size - done, &message, &used)) == 1) {
        if (used == 0 || used > size - done || message.len > WEBSOCKET_MESSAGE_MAX)
            abort();
        if (message.kind == WEBSOCKET_TEXT && !scan_utf8(message.data, message.len))
            abort();
        if (message.kind != WEBSOCKET_MORE)
            websocket_put(said, message.kind, message.data, message.len);
        done += used;
    }
    if (rc < 0 && w.fault != WEBSOCKET_BROKEN && w.fault != WEBSOCKET_NO_TEXT &&
        w.fault != WEBSOCKET_TOO_LARGE)
        abort();
    websocket_fini(&w);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf all = BUF_INIT(8u << 20), half = BUF_INIT(8u << 20);
    char *copy = malloc(size + 1), key[WEBSOCKET_ACCEPT];
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    websocket_accept(copy, key);
    (void)read_all(copy, size, &all);
    memcpy(copy, data, size);
    int rc = read_all(copy, size / 2, &half); /* less is the beginning of it */
    if (rc >= 0 && (half.len > all.len || (half.len && memcmp(half.data, all.data, half.len) != 0)))
        abort();
    free(copy);
    buf_fini(&all);
    buf_fini(&half);
    return 0;
}
