/* Ports of one physical host: which are held by tasks, which are left alone for a while. */
#ifndef SCHED_PORTS_H
#define SCHED_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PORTS_MAX 65536u

struct port_range { /* both ends belong to it */
    uint32_t first, last;
};

/* Shared by a cluster and its clones until one of them writes. NULL stands for "all free". */
struct ports;

/* The map at *at for writing: made when NULL, copied when others share it. pool is where dynamic
 * ports come from. */
struct ports *ports_own(struct ports **at, struct port_range pool, uint32_t start);
struct ports *ports_share(struct ports *); /* one more user; NULL-safe */
void ports_unshare(struct ports *);        /* NULL-safe */
/* Where the next dynamic port is looked for. */
uint32_t ports_next(const struct ports *);
void ports_look_from(struct ports *, uint32_t port);

bool ports_held(const struct ports *, uint32_t port); /* by a task */
bool ports_busy(const struct ports *, uint32_t port); /* held or blocked */
void ports_hold(struct ports *, uint32_t port);
void ports_drop(struct ports *, uint32_t port);
/* Holds as well what the other map holds. */
void ports_join(struct ports *, const struct ports *other);
/* Not given out until the time; held or not makes no difference. Bounded: the earliest goes when
 * there are too many. */
void ports_block(struct ports *, uint32_t port, uint64_t until_ms);
uint64_t ports_unblocks(const struct ports *); /* when the next one comes free; UINT64_MAX: none */
void ports_expire(struct ports *, uint64_t now_ms);
uint32_t ports_idle(const struct ports *, struct port_range pool); /* free ones in the pool */

struct port_ask {
    struct port_range pool;
    uint32_t start;                 /* where a map that is NULL begins to look */
    const struct port_range *avoid; /* ranges the job wants by number elsewhere */
    size_t n_avoid;
};
/* n free ports of the pool into out: one contiguous run when there is one, else the next free ones.
 * Looks on from the last one given out, so that a port just freed rests. false: too few. */
bool ports_find(const struct ports *, const struct port_ask *, uint32_t n, uint32_t *out);

#endif
