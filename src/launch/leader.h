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
    /* Orders for the member in this process, as the frame it would have got. */
    void (*order)(void *arg, const struct rdzv_frame_in *);
    void (*moved)(void *arg, const struct rdzv_moved *); /* a leader with a higher term claimed */
    void (*news)(void *arg, const char *text);
    void *arg;
};
struct leader *leader_create(uv_loop_t *, const struct settings *, uint64_t own_member,
                             struct leader_sink);
void leader_destroy(struct leader *); /* NULL-safe */

/* Listens; port 0: any. *taken: somebody else listens there. */
int leader_listen(struct leader *, const char *addr, uint16_t port, bool *taken, struct err *);
uint16_t leader_port(const struct leader *);
/* c10d clients that come to the leader's port go here (static rendezvous); NULL: nowhere. */
void leader_serve_store(struct leader *, struct store_server *);

/* From now on it leads. Callers are served, also those that were held. */
void leader_wake(struct leader *);
void leader_sleep(struct leader *, const struct rdzv_moved *to); /* sends everyone there */
bool leader_leads(const struct leader *);
/* A frame of the member in this process. */
void leader_hear(struct leader *, const struct rdzv_frame_in *);
/* While it leads elsewhere than at the original endpoint: looks now and then who is there. */
void leader_probe(struct leader *, const char *host, uint16_t port);

#endif
