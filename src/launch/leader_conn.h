/* The connection of this launcher to whoever leads its rendezvous, or the leader in this process.
 * Finds the leader, and when it is lost the next one: members of the last round by group rank, and
 * the first of them that is left leads. */
#ifndef LAUNCH_LEADER_CONN_H
#define LAUNCH_LEADER_CONN_H

#include "launch/settings.h"
#include "launch/store.h"
#include "wire/rendezvous.h"

#include <uv.h>

struct leader_conn_sink {
    void (*taken)(void *arg); /* a leader listens from now on: JOIN */
    void (*order)(void *arg, const struct rdzv_frame_data *);
    void (*say)(void *arg, const char *text); /* for people, one sentence */
    /* No leader within join_ms, or none can ever be found. */
    void (*failed)(void *arg, const char *text);
    void (*alone)(void *arg); /* it leads, and the last other launcher has gone */
    void *arg;
};
struct leader_conn;
struct leader_conn *leader_conn_create(uv_loop_t *, const struct settings *, uint64_t member,
                                       struct leader_conn_sink);
void leader_conn_destroy(struct leader_conn *); /* NULL-safe */
void leader_conn_start(struct leader_conn *);

/* Whole frames; without a leader they are dropped (JOIN repeats what matters). */
void leader_conn_send(struct leader_conn *, const struct buf *frames);
/* The members of a round: where the next leader is looked for. */
void leader_conn_know(struct leader_conn *, const struct rdzv_round *);
bool leader_conn_leads(const struct leader_conn *);
size_t leader_conn_others(
    const struct leader_conn *); /* connections to the leader in this process */

/* Meaningful from the first `taken` on. */
const char *leader_conn_addr(const struct leader_conn *); /* where others reach this node */
const char *leader_conn_listen_addr(
    const struct leader_conn *); /* for store_open, numeric or a word */
uint16_t leader_conn_lead_port(const struct leader_conn *);
/* Static rendezvous, at the original endpoint: the store answers at the leader's own port. */
bool leader_conn_shares_port(const struct leader_conn *);
void leader_conn_serve_store(struct leader_conn *, struct store_server *);

#endif
