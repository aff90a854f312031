/* Who is alive: the table of members, in which state each is, and when its time runs out. A member
 * is known from its first JOIN until it is lost, leaves, or was told the end of its own part.
 * Nothing is decided here; who may come in is admission.h's. */
#ifndef RDZV_MEMBERS_H
#define RDZV_MEMBERS_H

#include "base/map.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum part {
    PART_WAITING,  /* nothing of it runs: can take part */
    PART_IN_ROUND, /* has a place that is RUNNING, DONE or STOPPING */
    PART_BUSY,     /* runs a round that is not ours: was told STOP, must JOIN again */
    PART_N
};
struct place;
struct member {
    uint64_t id;
    char *node, *addr, *role;
    uint32_t node_rank, ranks, spent;
    uint16_t store_port, lead_port, check_port;
    enum part part;
    struct place *place; /* of the current round, also after it was left; or NULL */
    uint64_t senior;     /* small: keeps its order; newcomers count up */
    uint64_t heard_us, stop_by_us;
    bool checked;
};

struct members {
    uint32_t silence_ms, stop_ms; /* as rdzv_limits has them */
    VEC(struct member *) all;     /* by arrival */
    struct map *by_id, *by_rank;  /* by_rank: key is node rank + 1 */
    uint32_t parts[PART_N];
    uint64_t arrivals;
    uint64_t scan_us; /* no member's silence or stop ends before */
};
void members_init(struct members *, uint32_t silence_ms, uint32_t stop_ms);
void members_fini(struct members *);

struct member *members_find(const struct members *, uint64_t id);
/* Who asked for that node rank and is alive; or NULL. */
struct member *members_ranked(const struct members *, uint32_t node_rank);
struct member *members_add(struct members *, uint64_t id); /* a newcomer that waits */
void members_rank(struct members *, struct member *, uint32_t node_rank); /* or RDZV_ANY_RANK */
void members_remove(struct members *, struct member *);
void members_part(struct members *, struct member *, enum part);
void members_heard(struct members *, struct member *, uint64_t now_us);
void members_stop_by(struct members *, struct member *, uint64_t now_us); /* starts stop_ms */
/* Somebody whose time ran out, or NULL; *why for people. */
struct member *members_expired(struct members *, uint64_t now_us, const char **why);

#endif
