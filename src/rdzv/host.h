/* A rendezvous with those who take part in it, as its host sees them: who speaks over which
 * connection, who has to come again and until when, and what is due next. The server hosts one for
 * the launchers of a job's role, a launcher that leads hosts its own. Pure: events, frames and the
 * time come in, orders go out; a connection is a number of the owner's choice, never 0. */
#ifndef RDZV_HOST_H
#define RDZV_HOST_H

#include "base/buf.h"
#include "rdzv/rdzv.h"
#include "wire/rendezvous.h"

struct rdzv_participant {
    uint64_t id;     /* of the member */
    uint64_t conn;   /* 0: it has none */
    uint64_t tag;    /* the owner's, of its last JOIN */
    uint64_t due_us; /* without one: until then it may come again; UINT64_MAX: it need not */
};
struct rdzv_host_sink {
    /* Without a connection it is not told: it asks again when it comes again. */
    void (*order)(void *arg, const struct rdzv_participant *to, const struct rdzv_order *);
    /* about: the news' member, NULL when it is of all. May be NULL */
    void (*news)(void *arg, const struct rdzv_participant *about, const struct rdzv_notice *);
    /* Its member has come over another connection before this one was seen to end. */
    void (*replaced)(void *arg, uint64_t conn);
    void *arg;
};
struct rdzv_host;
struct rdzv_host *rdzv_host_create(const struct rdzv_limits *, struct rdzv_host_sink);
void rdzv_host_destroy(struct rdzv_host *); /* NULL-safe */

/* The rendezvous, for asking and for what concerns no participant (rdzv_without). */
struct rdzv *rdzv_host_rendezvous(const struct rdzv_host *);
bool rdzv_host_failed(const struct rdzv_host *); /* it is over, and not because all were done */
size_t rdzv_host_count(const struct rdzv_host *);
const struct rdzv_participant *rdzv_host_member(const struct rdzv_host *, uint64_t id);
const struct rdzv_participant *rdzv_host_at(const struct rdzv_host *, uint64_t conn);
/* Starts with *cursor 0, NULL after the last; no event meanwhile. */
const struct rdzv_participant *rdzv_host_next(const struct rdzv_host *, size_t *cursor);

/* Events. -1: this connection is another member's. */
int rdzv_host_join(struct rdzv_host *, uint64_t conn, uint64_t tag, const struct rdzv_join *,
                   uint64_t now_us);
/* Any other frame of a member that has joined there. -1: it is none, or not understood. */
int rdzv_host_hear(struct rdzv_host *, uint64_t conn, const struct rdzv_frame_data *,
                   struct arena *scratch, uint64_t now_us);
/* The connection has ended, and with it its member; one of a rendezvous that is over is remembered.
 * Connections that nobody joined over are none of its business. */
void rdzv_host_closed(struct rdzv_host *, uint64_t conn, const char *why, uint64_t now_us);
/* The connection broke by no fault of its member, which may come again until then. */
void rdzv_host_cut(struct rdzv_host *, uint64_t conn, uint64_t until_us);
void rdzv_host_lose(struct rdzv_host *, uint64_t id, const char *why, uint64_t now_us);
void rdzv_host_beat(struct rdzv_host *, uint64_t id, uint64_t now_us);
/* As rdzv_expect; false: it is as before, and nothing was told. */
bool rdzv_host_expect(struct rdzv_host *, uint32_t members, uint32_t later, uint64_t now_us);

/* What is due, and when it is called next (UINT64_MAX: by events only); after events, too. A host
 * that was stopped itself for half of the silence that loses a member forgives all of them. */
uint64_t rdzv_host_tick(struct rdzv_host *, uint64_t now_us);

/* An order as the frame that its member reads. */
void rdzv_put_order(struct buf *, const struct rdzv_order *);

#endif
