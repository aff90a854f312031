/* How bytes pass between the two ends of a connection: as they are, over a Unix socket or TCP; or
 * by other functions behind the same five calls, which may agree on keys first and encrypt. */
#ifndef CONN_TRANSPORT_H
#define CONN_TRANSPORT_H

#include <stddef.h>

/* What has to happen before the same call can do more. */
enum transport_state {
    TRANSPORT_READY,
    TRANSPORT_WAIT_IN,  /* until the socket is readable */
    TRANSPORT_WAIT_OUT, /* until it is writable */
    TRANSPORT_END,      /* the other end has said that it sends no more */
    TRANSPORT_BROKEN    /* why says the reason */
};

struct transport;
struct transport_calls {
    /* Agrees with the other end on what comes before bytes; called until it is READY. */
    enum transport_state (*start)(struct transport *);
    /* At most size bytes; *n of them, with any state: what comes after those. */
    enum transport_state (*read)(struct transport *, void *at, size_t size, size_t *n);
    enum transport_state (*write)(struct transport *, const void *at, size_t len, size_t *n);
    /* Says that nothing more is sent; called until it is READY. Reading goes on. */
    enum transport_state (*finish)(struct transport *);
    void (*close)(struct transport *); /* with its socket, and frees it */
};
struct transport { /* the first member of an implementation's own struct */
    const struct transport_calls *calls;
    int fd;          /* for polling */
    const char *why; /* text that stays, of BROKEN */
};

/* Bytes as they are. Takes the socket over, which does not block any more. */
struct transport *transport_plain(int fd);

#endif
