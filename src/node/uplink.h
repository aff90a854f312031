/* The agent's connection to the server: kept up for ever, frames in, frames out. */
#ifndef NODE_UPLINK_H
#define NODE_UPLINK_H

#include "base/buf.h"
#include "wire/frame.h"

#include <stdbool.h>
#include <uv.h>

struct uplink_sink {
    void (*connected)(void *arg, struct buf *out);      /* the server has agreed: write HELLO */
    int (*frame)(void *arg, const struct wire_frame *); /* -1: not understood, connect anew */
    void (*writable)(
        void *arg);          /* fewer than ROUTE_ROOM (route.h) bytes wait, after there were more */
    void (*lost)(void *arg); /* it goes on by itself */
    void (*refused)(void *arg, int status); /* the token is not valid any more; it does not go on */
    void *arg;
};

struct uplink;
/* dir: where agent.conf lies; it is read again at every try. */
struct uplink *uplink_create(uv_loop_t *, const char *dir, struct uplink_sink);
/* Of the host of a machine: dir has a host.conf. */
struct uplink *uplink_create_host(uv_loop_t *, const char *dir, struct uplink_sink);
void uplink_destroy(struct uplink *); /* NULL-safe; memory goes when libuv has let go of it */
void uplink_start(struct uplink *);
struct route *uplink_route(struct uplink *);
/* Its host's session, which is in that file: the first connection need not agree on keys. Closes
 * it. fd: -1: none. */
void uplink_take_session(struct uplink *, int fd);

uv_loop_t *uplink_loop(const struct uplink *);
bool uplink_is_up(const struct uplink *); /* HELLO was sent */
struct buf *uplink_out(struct uplink *);  /* append frames while it is up, then flush */
void uplink_flush(struct uplink *);
bool uplink_has_room(const struct uplink *);

#endif
