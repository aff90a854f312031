/* Three memories: held states by their contents, Phi of any state that was looked at, and for each
 * shape a column of what putting it on each held state costs.
 *
 * A cell of a column is good when its stamp is that of the state: a state gets a new stamp when its
 * id is given out and when the mix changes, so nothing has to be wiped then. Phi of states is kept
 * in a pool of bounded size; when it is full, all of it is forgotten. */
#include "sched/potential.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

#define NONE UINT32_MAX

enum {
    KNOWN_MOST = 1 << 13,
    POOL = 1 << 19 /* bytes */
};

struct cell {
    uint32_t stamp; /* 0: never computed */
    int32_t delta;
    uint16_t slot;
    bool fits;
};
struct column {
    struct shape shape;
    uint64_t asked; /* when last, by the number of the question */
    struct cell *cells;
    uint32_t n;
};
struct state_entry {
    struct node_state state;
    uint32_t refs, next; /* of the free ones */
    int32_t waste;
};
struct state_value { /* Phi of a state; its contents are in the pool */
    uint32_t at, len;
    int32_t waste;
};
struct potential {
    struct rollout *rollout;
    uint64_t version;
    VEC(struct state_entry) states;
    VEC(uint32_t) stamps;   /* of the states; apart, because every look at a cell reads one */
    struct hash_index held; /* states by their contents */
    uint32_t spare, stamp;
    struct column columns[POTENTIAL_SHAPES];
    uint32_t n_columns;
    uint64_t questions;
    VEC(struct state_value) known;
    struct hash_index known_at; /* known by contents */
    struct buf pool;
    struct potential_work work;
};

/* ---- contents ---- */

/* 8 bytes less than the struct has without devices: n and kind are in one. */
struct contents {
    unsigned char bytes[24 + 2 * NODE_DEVICES];
    uint32_t len;
    uint64_t hash;
};

static void contents_of(const struct node_state *s, struct contents *c)
{
    uint64_t head[3] = { s->cpu_milli, s->memory, (uint64_t)s->kind << 16 | s->n };
    uint64_t word, hash = 0;
    size_t padded = ((size_t)s->n * 2 + 7) / 8 * 8;
    c->len = (uint32_t)(sizeof head + padded);
    memcpy(c->bytes, head, sizeof head);
    memset(c->bytes + c->len - (padded ? 8 : 0), 0, padded ? 8 : 0);
    memcpy(c->bytes + sizeof head, s->free, (size_t)s->n * 2);
    for (uint32_t i = 0; i < c->len; i += 8) {
        memcpy(&word, c->bytes + i, 8);
        hash = hash_u64(hash ^ word) + 0x9E3779B97F4A7C15u;
    }
    c->hash = hash;
}

static bool same(const struct node_state *a, const struct node_state *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory == b->memory && a->kind == b->kind &&
           a->n == b->n && !memcmp(a->free, b->free, (size_t)a->n * 2);
}

bool node_state_put(struct node_state *s, const struct shape *t, uint16_t slot)
{
    if (t->cpu_milli > s->cpu_milli || t->memory > s->memory ||
        (t->types && !(t->types >> s->kind & 1)))
        return false;
    if (t->devices) {
        if (t->devices > s->n || s->free[t->devices - 1] < DEVICE_MILLI)
            return false;
        size_t left = (size_t)s->n - t->devices;
        memmove(s->free, s->free + t->devices, left * 2);
        memset(s->free + left, 0, (size_t)t->devices * 2);
    } else if (t->share) {
        if (slot >= s->n || s->free[slot] < t->share)
            return false;
        uint16_t free = (uint16_t)(s->free[slot] - t->share);
        for (; slot + 1u < s->n && s->free[slot + 1] > free; slot++)
            s->free[slot] = s->free[slot + 1];
        s->free[slot] = free;
    }
    s->cpu_milli -= t->cpu_milli;
    s->memory -= t->memory;
    return true;
}

/* ---- Phi, remembered ---- */

static void forget_known(struct potential *p)
{
    hash_index_clear(&p->known_at);
    vec_clear(&p->known);
    buf_clear(&p->pool);
}

static int32_t waste_of(struct potential *p, const struct node_state *s)
{
    struct contents c;
    if (!p->rollout || s->n == 0 || s->free[0] == 0)
        return 0;
    contents_of(s, &c);
    for (uint32_t i = hash_index_first(&p->known_at, c.hash); i != HASH_INDEX_NONE;
         i = hash_index_next(&p->known_at, i)) {
        const struct state_value *k = &p->known.at[i];
        if (k->len == c.len && !memcmp(p->pool.data + k->at, c.bytes, c.len))
            return k->waste;
    }
    p->work.states++;
    int32_t waste = rollout_waste(p->rollout, s);
    if (p->known.n == KNOWN_MOST || p->pool.len + c.len > POOL)
        forget_known(p);
    hash_index_add(&p->known_at, (uint32_t)p->known.n, c.hash);
    vec_push(&p->known,
             ((struct state_value){ .at = (uint32_t)p->pool.len, .len = c.len, .waste = waste }));
    buf_add(&p->pool, c.bytes, c.len);
    return waste;
}

int32_t potential_of(struct potential *p, const struct node_state *s)
{
    return waste_of(p, s);
}

/* ---- states ---- */

static uint32_t new_stamp(struct potential *p)
{
    if (++p->stamp == 0) { /* after 4 thousand million states: no cell may look fresh */
        for (uint32_t i = 0; i < p->n_columns; i++)
            memset(p->columns[i].cells, 0, p->columns[i].n * sizeof *p->columns[i].cells);
        for (size_t i = 0; i < p->stamps.n; i++)
            p->stamps.at[i] = ++p->stamp;
        p->stamp++;
    }
    return p->stamp;
}

uint32_t potential_hold(struct potential *p, const struct node_state *s)
{
    struct contents c;
    contents_of(s, &c);
    for (uint32_t i = hash_index_first(&p->held, c.hash); i != HASH_INDEX_NONE;
         i = hash_index_next(&p->held, i))
        if (same(&p->states.at[i].state, s)) {
            p->states.at[i].refs++;
            return i;
        }
    uint32_t id = p->spare;
    if (id == NONE) {
        id = (uint32_t)p->states.n;
        vec_push(&p->states, (struct state_entry){ 0 });
        vec_push(&p->stamps, 0);
    } else {
        p->spare = p->states.at[id].next;
    }
    struct state_entry *h = &p->states.at[id];
    h->state = *s;
    h->refs = 1;
    h->waste = waste_of(p, s);
    p->stamps.at[id] = new_stamp(p);
    hash_index_add(&p->held, id, c.hash);
    return id;
}

void potential_keep(struct potential *p, uint32_t state)
{
    p->states.at[state].refs++;
}

void potential_drop(struct potential *p, uint32_t state)
{
    struct state_entry *h = &p->states.at[state];
    if (--h->refs)
        return;
    hash_index_remove(&p->held, state);
    h->next = p->spare;
    p->spare = state;
}

const struct node_state *potential_state(const struct potential *p, uint32_t state)
{
    return &p->states.at[state].state;
}

uint32_t potential_bound(const struct potential *p)
{
    return (uint32_t)p->states.n;
}

/* ---- shapes ---- */

uint32_t potential_shape(struct potential *p, const struct shape *shape)
{
    struct shape s = shape_normal(*shape);
    uint32_t oldest = 0;
    p->questions++;
    for (uint32_t i = 0; i < p->n_columns; i++) {
        if (!shape_compare(&p->columns[i].shape, &s)) {
            p->columns[i].asked = p->questions;
            return i;
        }
        if (p->columns[i].asked < p->columns[oldest].asked)
            oldest = i;
    }
    uint32_t id = p->n_columns < POTENTIAL_SHAPES ? p->n_columns++ : oldest;
    struct column *c = &p->columns[id];
    c->shape = s;
    c->asked = p->questions;
    if (c->n)
        memset(c->cells, 0, c->n * sizeof *c->cells);
    return id;
}

/* ---- putting ---- */

static void compute(struct potential *p, const struct state_entry *h, const struct shape *t,
                    struct cell *cell)
{
    p->work.pairs++;
    *cell = (struct cell){ .delta = INT32_MAX };
    uint16_t last = t->share ? h->state.n : 1;
    for (uint16_t slot = 0; slot < last; slot++) {
        if (slot && h->state.free[slot] == h->state.free[slot - 1])
            continue;
        struct node_state after = h->state;
        if (!node_state_put(&after, t, slot))
            break;
        int32_t delta = waste_of(p, &after) - h->waste;
        /* Of equals the freest; before anything was learnt, the fullest that holds it. */
        if (cell->fits && delta >= cell->delta && p->rollout)
            continue;
        cell->fits = true;
        cell->delta = delta;
        cell->slot = slot;
    }
}

struct putting potential_put(struct potential *p, uint32_t state, uint32_t shape)
{
    struct column *c = &p->columns[shape];
    if (state >= c->n) {
        uint32_t n = (uint32_t)p->states.cap;
        c->cells = mem_resize(c->cells, n * sizeof *c->cells);
        memset(c->cells + c->n, 0, (n - c->n) * sizeof *c->cells);
        c->n = n;
    }
    struct cell *cell = &c->cells[state];
    if (cell->stamp != p->stamps.at[state]) {
        compute(p, &p->states.at[state], &c->shape, cell);
        cell->stamp = p->stamps.at[state];
    }
    return (struct putting){ .delta = cell->delta, .slot = cell->slot, .fits = cell->fits };
}

struct potential_work potential_work(const struct potential *p)
{
    return p->work;
}

/* ---- all ---- */

struct potential *potential_create(void)
{
    struct potential *p = mem_new(sizeof *p);
    p->spare = NONE;
    buf_init(&p->pool, POOL);
    return p;
}

void potential_destroy(struct potential *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n_columns; i++)
        free(p->columns[i].cells);
    rollout_destroy(p->rollout);
    vec_fini(&p->states);
    vec_fini(&p->stamps);
    hash_index_fini(&p->held);
    hash_index_fini(&p->known_at);
    vec_fini(&p->known);
    buf_fini(&p->pool);
    free(p);
}

uint64_t potential_version(const struct potential *p)
{
    return p->version;
}

void potential_learn(struct potential *p, const struct mix *mix)
{
    if (p->version == mix_version(mix))
        return;
    struct mix_numbers numbers = mix_numbers(mix);
    rollout_destroy(p->rollout);
    p->rollout = rollout_create(&numbers);
    p->version = mix_version(mix);
    forget_known(p);
    for (uint32_t i = 0; i < p->states.n; i++) {
        if (!p->states.at[i].refs)
            continue;
        p->states.at[i].waste = waste_of(p, &p->states.at[i].state);
        p->stamps.at[i] = new_stamp(p);
    }
}
