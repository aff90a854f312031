/* A launcher that leads: the machine of rdzv/ behind a port. Every launcher that may lead has one,
 * asleep: it listens, and tells who asks where the leader is, or holds them until it knows. */
#ifndef LAUNCH_LEADER_H
#define LAUNCH_LEADER_H

#include "launch/settings.h"
#include "launch/store.h"
#include "wire/rendezvous.h"

#include <uv.h>

struct leader;
struct leader_sink {
    /* Orders for the member in this process, as the frame it would have got; from the loop, never
     * from inside leader_hear. */
    void (*order)(void *arg, const struct rdzv_frame_data *);
    void (*moved)(void *arg,
                  const struct rdzv_leader_address *); /* a leader with a higher term claimed */
    void (*news)(void *arg, const char *text);         /* may be NULL */
    void (*alone)(void *arg); /* the last connection has gone; may be NULL */
    void *arg;
};
struct leader *leader_create(uv_loop_t *, const struct settings *, uint64_t own_member,
                             struct leader_sink);
void leader_destroy(struct leader *); /* NULL-safe */

/* Listens; place as for rdzv_listener_open (rdzv_listener.h). */
struct listen_place;
int leader_listen(struct leader *, struct listen_place *, struct err *);
void leader_stop_listening(struct leader *);
uint16_t leader_port(const struct leader *); /* 0: it does not listen */
size_t leader_callers(const struct leader *);
/* c10d clients that come to the leader's port go here (static rendezvous); NULL: nowhere. */
void leader_serve_store(struct leader *, struct store_server *);

/* From now on it leads. Callers are served, also those that were held. */
void leader_wake(struct leader *);
/* Sends everyone there; NULL: the leader is not known, callers are held. */
void leader_sleep(struct leader *, const struct rdzv_leader_address *to);
bool leader_leads(const struct leader *);
/* Who led before, by its group rank in the round that the member in this process has told: it will
 * not come. */
void leader_without(struct leader *, uint32_t group_rank, const char *why);
/* A frame of the member in this process. */
void leader_hear(struct leader *, const struct rdzv_frame_data *);
/* While it leads elsewhere than at the original endpoint: looks now and then who is there. addr:
 * numeric. */
void leader_probe(struct leader *, const char *addr, uint16_t port);

#endif
