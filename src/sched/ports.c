/* Port maps of physical hosts.
 *
 * Programs bind all interfaces, so nodes of one physical host share one map. A map is a bitmap over
 * all ports, in blocks that are there when a port of theirs was held, plus a short list of ports
 * seen taken from outside; it is counted and copied on the first write, because a scheduling pass
 * writes few of them. */
#include "sched/ports.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS   64u
#define BLOCK_WORDS 16u
#define BLOCK_PORTS (BLOCK_WORDS * WORD_BITS)
#define BLOCKED_MAX 256u

struct blocked_port {
    uint32_t port;
    uint64_t until_ms;
};

struct ports {
    uint32_t refs;
    struct port_range pool;
    uint32_t next; /* dynamic ports are looked for from here */
    uint32_t held_in_pool;
    uint32_t n_blocked;
    struct blocked_port *blocked;              /* NULL: there never was one */
    uint64_t *blocks[PORTS_MAX / BLOCK_PORTS]; /* NULL: none of its ports is held */
};

static bool in_range(struct port_range r, uint32_t port)
{
    return port >= r.first && port <= r.last;
}

static void copy(struct ports *to, const struct ports *from)
{
    *to = *from;
    if (from->blocked) {
        to->blocked = mem_new(BLOCKED_MAX * sizeof *to->blocked);
        memcpy(to->blocked, from->blocked, from->n_blocked * sizeof *to->blocked);
    }
    for (uint32_t i = 0; i < PORTS_MAX / BLOCK_PORTS; i++)
        if (from->blocks[i]) {
            to->blocks[i] = mem_new(BLOCK_WORDS * sizeof(uint64_t));
            memcpy(to->blocks[i], from->blocks[i], BLOCK_WORDS * sizeof(uint64_t));
        }
}

struct ports *ports_own(struct ports **at, struct port_range pool, uint32_t start)
{
    struct ports *p = *at;
    if (p && p->refs == 1)
        return p;
    struct ports *own = mem_new(sizeof *own);
    if (p) {
        copy(own, p);
        p->refs--;
    } else {
        own->pool = pool;
        own->next = start;
    }
    own->refs = 1;
    return *at = own;
}

uint32_t ports_next(const struct ports *p)
{
    return p->next;
}

void ports_look_from(struct ports *p, uint32_t port)
{
    p->next = port;
}

struct ports *ports_share(struct ports *p)
{
    if (p)
        p->refs++;
    return p;
}

void ports_unshare(struct ports *p)
{
    if (!p || --p->refs)
        return;
    for (uint32_t i = 0; i < PORTS_MAX / BLOCK_PORTS; i++)
        free(p->blocks[i]);
    free(p->blocked);
    free(p);
}

static uint64_t *block_of(struct ports *p, uint32_t port)
{
    uint64_t **block = &p->blocks[port / BLOCK_PORTS];
    if (!*block)
        *block = mem_new(BLOCK_WORDS * sizeof **block);
    return *block;
}

static uint32_t word_of(uint32_t port)
{
    return port / WORD_BITS % BLOCK_WORDS;
}

bool ports_held(const struct ports *p, uint32_t port)
{
    const uint64_t *block = p ? p->blocks[port / BLOCK_PORTS] : NULL;
    return block && (block[word_of(port)] >> (port % WORD_BITS) & 1);
}

bool ports_busy(const struct ports *p, uint32_t port)
{
    if (!p)
        return false;
    if (ports_held(p, port))
        return true;
    for (uint32_t i = 0; i < p->n_blocked; i++)
        if (p->blocked[i].port == port)
            return true;
    return false;
}

void ports_hold(struct ports *p, uint32_t port)
{
    block_of(p, port)[word_of(port)] |= UINT64_C(1) << (port % WORD_BITS);
    if (!in_range(p->pool, port))
        return;
    p->held_in_pool++;
    p->next = port == p->pool.last ? p->pool.first : port + 1;
}

void ports_drop(struct ports *p, uint32_t port)
{
    block_of(p, port)[word_of(port)] &= ~(UINT64_C(1) << (port % WORD_BITS));
    if (in_range(p->pool, port))
        p->held_in_pool--;
}

static void join_block(struct ports *p, const uint64_t *other, uint32_t first)
{
    const uint64_t *own = block_of(p, first);
    for (uint32_t i = 0; i < BLOCK_WORDS; i++)
        for (uint64_t new = other[i] & ~own[i]; new; new &= new - 1)
            ports_hold(p, first + i * WORD_BITS + (uint32_t)__builtin_ctzll(new));
}

void ports_join(struct ports *p, const struct ports *other)
{
    uint32_t next = p->next;
    for (uint32_t first = 0; first < PORTS_MAX; first += BLOCK_PORTS)
        if (other->blocks[first / BLOCK_PORTS])
            join_block(p, other->blocks[first / BLOCK_PORTS], first);
    p->next = next;
}

void ports_block(struct ports *p, uint32_t port, uint64_t until_ms)
{
    uint32_t slot = p->n_blocked, earliest = 0;
    if (!p->blocked)
        p->blocked = mem_new(BLOCKED_MAX * sizeof *p->blocked);
    for (uint32_t i = 0; i < p->n_blocked; i++) {
        if (p->blocked[i].port == port)
            slot = i;
        if (p->blocked[i].until_ms < p->blocked[earliest].until_ms)
            earliest = i;
    }
    if (slot == BLOCKED_MAX)
        slot = earliest;
    else if (slot == p->n_blocked)
        p->n_blocked++;
    p->blocked[slot] = (struct blocked_port){ .port = port, .until_ms = until_ms };
}

uint64_t ports_unblocks(const struct ports *p)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; p && i < p->n_blocked; i++)
        next = p->blocked[i].until_ms < next ? p->blocked[i].until_ms : next;
    return next;
}

void ports_expire(struct ports *p, uint64_t now_ms)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->n_blocked; i++)
        if (p->blocked[i].until_ms > now_ms)
            p->blocked[kept++] = p->blocked[i];
    p->n_blocked = kept;
}

uint32_t ports_idle(const struct ports *p, struct port_range pool)
{
    uint32_t idle = pool.last - pool.first + 1;
    if (!p)
        return idle;
    idle -= p->held_in_pool;
    for (uint32_t i = 0; i < p->n_blocked; i++)
        if (in_range(pool, p->blocked[i].port) && !ports_held(p, p->blocked[i].port))
            idle--;
    return idle;
}

static bool offered(const struct ports *p, const struct port_ask *ask, uint32_t port)
{
    if (ports_busy(p, port))
        return false;
    for (size_t i = 0; i < ask->n_avoid; i++)
        if (in_range(ask->avoid[i], port))
            return false;
    return true;
}

bool ports_find(const struct ports *p, const struct port_ask *ask, uint32_t n, uint32_t *out)
{
    uint32_t size = ask->pool.last - ask->pool.first + 1, pieces = 0, run = 0;
    uint32_t next = p ? p->next : ask->start;
    uint32_t begin = in_range(ask->pool, next) ? next - ask->pool.first : 0;
    /* Once around, and on to the end of a run that begins before the place where the look began. */
    for (uint32_t step = 0; step < size + n - 1 && run < n; step++) {
        uint32_t offset = (begin + step) % size, port = ask->pool.first + offset;
        if (offset == 0)
            run = 0; /* the last port and the first are not neighbours */
        if (!offered(p, ask, port)) {
            run = 0;
            continue;
        }
        run++;
        if (pieces < n && step < size)
            out[pieces++] = port;
        if (run == n)
            for (uint32_t i = 0; i < n; i++)
                out[i] = port - (n - 1) + i;
    }
    return run == n || pieces == n;
}
