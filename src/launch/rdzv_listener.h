/* The port of a launcher that leads or may lead: accepts, and tells by the first bytes who calls:
 * a launcher of this job, a launcher with another token, a client of torch's store, or a stranger
 * (closed without a word). */
#ifndef LAUNCH_RDZV_LISTENER_H
#define LAUNCH_RDZV_LISTENER_H

#include "base/err.h"
#include "conn/conn.h"
#include "conn/listener.h"
#include "wire/rendezvous.h"

#include <stdbool.h>
#include <uv.h>

/* Of all connections that carry frames of a rendezvous; who connects sets its own time. */
extern const struct conn_terms launcher_terms;

/* What a launcher of this job says first. The token travels as it is: it keeps apart those who
 * meet by accident, it does not stop somebody who listens in. -1: the token cannot be said (1 to
 * 128 printable characters without blanks). */
int rdzv_listener_preface(char out[RDZV_PREFACE_MAX + 1], const char *token, struct err *);

struct rdzv_listener_sink {
    /* The receiver's now, which sets events and, when it knows who that is, admits it; so long
     * the caller's time runs. */
    void (*caller)(void *arg, struct conn *, bool token_is_good);
    void (*c10d)(void *arg, int fd, const void *bytes, size_t len); /* fd is the receiver's */
    void *arg;
};
struct rdzv_listener;
struct rdzv_listener *rdzv_listener_open(uv_loop_t *, struct listen_place *, const char *preface,
                                         struct rdzv_listener_sink, struct err *);
void rdzv_listener_close(
    struct rdzv_listener *); /* NULL-safe; those who have not said who they are are closed */
uint16_t rdzv_listener_port(const struct rdzv_listener *);

#endif
