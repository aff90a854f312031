/* Phi(s) = roll(s) + W fill(s), in integers.
 *
 * roll: ROWS rows of LENGTH tasks, drawn from the mix once, are offered to a copy of the state one
 * task after the other; what the rows leave idle, on average, is wasted. fill: what a shape alone
 * could not use of the state, averaged over the shapes by the devices they ask for in all; it
 * keeps blocks for tasks of many devices when every row fills the node anyway. Tasks without
 * devices are in neither: they would take the cpu from every row that they stand in.
 *
 * A type of device sees only the tasks it may run, so rows are cut to size for each set of such
 * tasks (a course). Memory counts in MiB, of tasks rounded up. */
#include "sched/rollout.h"

#include "base/dice.h"
#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

enum {
    ROWS = 16,
    LENGTH = 64,
    DRAWN = ROWS * LENGTH,
    FILL = 82, /* W = 0.08, in 1/1024 */
    LEVELS = 32,
    SEED = 1
};
#define WEIGHTS 20 /* bits: all weights of the fill sum up to 1 << WEIGHTS */
#define NEEDS   (DEVICE_MILLI + MIX_DEVICES) /* a share of m: m - 1; n devices: 999 + n */

struct task {
    uint32_t cpu, memory; /* milli, MiB */
    uint16_t devices, share;
    uint16_t need;
};
struct row {
    uint32_t n;
    struct task at[LENGTH];
    /* For each level of what is free, from each place: the next task that it could serve. */
    uint8_t next[LEVELS][LENGTH + 1];
};
struct filler { /* a shape in the fill */
    uint32_t cpu, memory;
    uint64_t value; /* weight times devices, of one task */
};
struct need { /* shapes that ask for equally much of devices */
    uint16_t devices, share;
    uint32_t inverse; /* of the share: floor(f / share) = f * inverse >> 20 for f <= 1000 */
    uint32_t begin, end;
};
struct course {
    uint64_t shapes[MIX_SHAPES / 64]; /* which of the basis */
    struct row rows[ROWS];
    uint16_t level_of[NEEDS]; /* by the need that what is free would just serve */
    uint32_t least_cpu, least_memory;
    struct need *needs; /* from 1 on */
    struct filler *fillers;
    size_t n_needs;
};
struct rollout {
    struct mix_count basis[MIX_SHAPES];
    uint64_t weight[MIX_SHAPES];
    size_t n;
    uint16_t drawn[DRAWN];
    struct course *courses[NODE_KINDS], *of_kind[NODE_KINDS];
    size_t n_courses;
};

static uint32_t narrow(uint64_t x)
{
    return x < UINT32_MAX ? (uint32_t)x : UINT32_MAX;
}

static uint32_t mib_up(uint64_t bytes)
{
    return narrow((bytes >> 20) + ((bytes & 0xfffff) != 0));
}

static uint32_t milli_of(const struct shape *s)
{
    return s->devices * DEVICE_MILLI + s->share;
}

static uint32_t need_of(uint32_t devices, uint32_t share)
{
    return devices ? DEVICE_MILLI - 1 + devices : share - 1;
}

/* ---- drawing ---- */

static void shuffle(uint16_t *at, size_t n, struct dice *dice)
{
    for (size_t i = n; i-- > 1;) {
        size_t other = (size_t)(dice_roll(dice) % (i + 1));
        uint16_t swap = at[i];
        at[i] = at[other];
        at[other] = swap;
    }
}

/* Stratified twice: the rows together have the mix as exactly as their number allows, and so has
 * each place, across the rows: one task of every ROWS-th part of the mix. What comes first in a row
 * counts most, and chance in it is what makes one drawing better than another. */
static void draw(struct rollout *r)
{
    uint16_t strata[DRAWN], part[ROWS];
    uint64_t sum = 0, covered = 0;
    struct dice dice = { SEED };
    size_t k = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += r->basis[i].count;
    for (size_t i = 0; i < DRAWN; i++) {
        uint64_t odd = 2 * i + 1, all = (uint64_t)2 * DRAWN;
        uint64_t point = sum / all * odd + sum % all * odd / all;
        while (k + 1 < r->n && covered + r->basis[k].count <= point)
            covered += r->basis[k++].count;
        strata[i] = (uint16_t)k;
    }
    for (size_t row = 0; row < ROWS; row++) {
        shuffle(strata + row * LENGTH, LENGTH, &dice);
        part[row] = (uint16_t)row;
    }
    for (size_t at = 0; at < LENGTH; at++) {
        shuffle(part, ROWS, &dice);
        for (size_t row = 0; row < ROWS; row++)
            r->drawn[row * LENGTH + at] = strata[part[row] * LENGTH + at];
    }
}

static void weigh(struct rollout *r)
{
    uint64_t sum = 0;
    unsigned shift = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += r->basis[i].count * milli_of(&r->basis[i].shape);
    while (sum >> shift >> (63 - WEIGHTS))
        shift++;
    for (size_t i = 0; i < r->n; i++) {
        uint64_t own = r->basis[i].count * milli_of(&r->basis[i].shape);
        r->weight[i] = ((own >> shift) << WEIGHTS) / (sum >> shift);
    }
}

struct rollout *rollout_create(const struct mix_numbers *mix)
{
    struct rollout *r = mem_new(sizeof *r);
    for (size_t i = 0; i < mix->n_basis; i++)
        if (milli_of(&mix->basis[i].shape))
            r->basis[r->n++] = mix->basis[i];
    if (r->n) {
        draw(r);
        weigh(r);
    }
    return r;
}

void rollout_destroy(struct rollout *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_courses; i++) {
        free(r->courses[i]->needs);
        free(r->courses[i]->fillers);
        free(r->courses[i]);
    }
    free(r);
}

/* ---- courses ---- */

static bool in_course(const struct course *c, size_t shape)
{
    return c->shapes[shape / 64] >> shape % 64 & 1;
}

static void cut_rows(struct course *c, const struct rollout *r)
{
    c->least_cpu = c->least_memory = UINT32_MAX;
    for (size_t i = 0; i < DRAWN; i++) {
        struct row *row = &c->rows[i / LENGTH];
        const struct shape *s = &r->basis[r->drawn[i]].shape;
        if (!in_course(c, r->drawn[i]))
            continue;
        struct task t = { .cpu = narrow(s->cpu_milli),
                          .memory = mib_up(s->memory),
                          .devices = (uint16_t)s->devices,
                          .share = (uint16_t)s->share,
                          .need = (uint16_t)need_of(s->devices, s->share) };
        c->least_cpu = t.cpu < c->least_cpu ? t.cpu : c->least_cpu;
        c->least_memory = t.memory < c->least_memory ? t.memory : c->least_memory;
        row->at[row->n++] = t;
    }
}

/* Level l serves every need up to some bound; with more needs than levels, neighbours share one,
 * and the row finds out by looking. */
static void set_levels(struct course *c)
{
    bool asked[NEEDS] = { false };
    size_t distinct = 0, seen = 0;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < c->rows[i].n; k++) {
            distinct += !asked[c->rows[i].at[k].need];
            asked[c->rows[i].at[k].need] = true;
        }
    size_t each = (distinct + LEVELS - 2) / (LEVELS - 1);
    for (size_t need = 0; need < NEEDS; need++) {
        seen += asked[need];
        c->level_of[need] = (uint16_t)(each ? (seen + each - 1) / each : 0);
    }
}

static void link_rows(struct course *c)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct row *row = &c->rows[i];
        for (size_t level = 0; level < LEVELS; level++) {
            row->next[level][row->n] = (uint8_t)row->n;
            for (size_t k = row->n; k-- > 0;)
                row->next[level][k] =
                    c->level_of[row->at[k].need] <= level ? (uint8_t)k : row->next[level][k + 1];
        }
    }
}

static void set_fill(struct course *c, const struct rollout *r)
{
    uint32_t n = 0;
    c->needs = mem_new((r->n + 1) * sizeof *c->needs);
    c->fillers = mem_new((r->n + 1) * sizeof *c->fillers);
    for (size_t i = 0; i < r->n; i++) {
        const struct shape *s = &r->basis[i].shape;
        if (!in_course(c, i) || !r->weight[i])
            continue;
        struct need *last = &c->needs[c->n_needs]; /* the first is none, and has no shapes */
        if (last->devices != s->devices || last->share != s->share) {
            last = &c->needs[++c->n_needs];
            *last = (struct need){ .devices = (uint16_t)s->devices,
                                   .share = (uint16_t)s->share,
                                   .inverse = s->share ? (1u << 20) / s->share + 1 : 0,
                                   .begin = n };
        }
        c->fillers[n++] = (struct filler){ .cpu = narrow(s->cpu_milli),
                                           .memory = mib_up(s->memory),
                                           .value = r->weight[i] * milli_of(s) };
        last->end = n;
    }
}

static const struct course *course_of(struct rollout *r, uint32_t kind)
{
    if (r->of_kind[kind])
        return r->of_kind[kind];
    struct course *c = mem_new(sizeof *c);
    for (size_t i = 0; i < r->n; i++) {
        uint64_t types = r->basis[i].shape.types;
        if (types == 0 || types >> kind & 1)
            c->shapes[i / 64] |= (uint64_t)1 << i % 64;
    }
    for (size_t i = 0; i < r->n_courses && !r->of_kind[kind]; i++)
        if (!memcmp(r->courses[i]->shapes, c->shapes, sizeof c->shapes))
            r->of_kind[kind] = r->courses[i];
    if (r->of_kind[kind]) {
        free(c);
        return r->of_kind[kind];
    }
    cut_rows(c, r);
    set_levels(c);
    link_rows(c);
    set_fill(c, r);
    r->courses[r->n_courses++] = c;
    r->of_kind[kind] = c;
    return c;
}

/* ---- the two sums ---- */

struct bench { /* what is free while a row is played */
    uint32_t cpu, memory;
    uint32_t whole, n_parts;
    uint16_t parts[NODE_DEVICES]; /* of devices in use, downwards, none 0 */
};

static void bench_set(struct bench *b, const struct node_state *s)
{
    b->cpu = narrow(s->cpu_milli);
    b->memory = narrow(s->memory >> 20);
    b->whole = b->n_parts = 0;
    while (b->whole < s->n && s->free[b->whole] == DEVICE_MILLI)
        b->whole++;
    for (uint32_t i = b->whole; i < s->n && s->free[i]; i++)
        b->parts[b->n_parts++] = s->free[i];
}

/* The part shrinks and moves down to its place. */
static void shrink(struct bench *b, uint32_t at, uint32_t by)
{
    uint16_t left = (uint16_t)(b->parts[at] - by);
    for (; at + 1 < b->n_parts && b->parts[at + 1] > left; at++)
        b->parts[at] = b->parts[at + 1];
    b->parts[at] = left;
    b->n_parts -= left == 0;
}

/* On the device with the least free that holds it. */
static void put_share(struct bench *b, uint32_t share)
{
    for (uint32_t i = b->n_parts; i-- > 0;)
        if (b->parts[i] >= share) {
            shrink(b, i, share);
            return;
        }
    b->whole--;
    memmove(b->parts + 1, b->parts, b->n_parts * sizeof *b->parts);
    b->parts[0] = DEVICE_MILLI;
    b->n_parts++;
    shrink(b, 0, share);
}

static uint32_t level_now(const struct course *c, const struct bench *b)
{
    if (b->whole)
        return c->level_of[need_of(b->whole, 0)];
    return b->n_parts ? c->level_of[need_of(0, b->parts[0])] : 0;
}

static uint32_t play(const struct course *c, const struct row *row, struct bench *b)
{
    uint32_t placed = 0, level = level_now(c, b);
    for (uint32_t at = row->next[level][0]; at < row->n; at = row->next[level][at + 1]) {
        const struct task *t = &row->at[at];
        if (t->cpu > b->cpu || t->memory > b->memory || t->devices > b->whole ||
            (!b->whole && t->share > (b->n_parts ? b->parts[0] : 0u)))
            continue;
        if (t->devices)
            b->whole -= t->devices;
        else
            put_share(b, t->share);
        b->cpu -= t->cpu;
        b->memory -= t->memory;
        placed += t->devices * DEVICE_MILLI + t->share;
        level = level_now(c, b);
        if (b->cpu < c->least_cpu || b->memory < c->least_memory)
            break;
    }
    return placed;
}

/* How many of the need the devices hold. */
static uint32_t held(const struct need *need, const struct bench *b)
{
    if (need->devices)
        return b->whole / need->devices;
    uint32_t n = b->whole * (DEVICE_MILLI * need->inverse >> 20);
    for (uint32_t i = 0; i < b->n_parts && b->parts[i] >= need->share; i++)
        n += b->parts[i] * need->inverse >> 20;
    return n;
}

/* Milli-devices that the shapes alone would use, by their weights, times 1 << WEIGHTS. */
static uint64_t used(const struct course *c, const struct bench *b)
{
    uint64_t sum = 0;
    for (size_t i = 1; i <= c->n_needs; i++) {
        uint32_t most = held(&c->needs[i], b);
        if (!most)
            continue;
        for (uint32_t k = c->needs[i].begin; k < c->needs[i].end; k++) {
            const struct filler *f = &c->fillers[k];
            uint32_t n = most;
            if ((uint64_t)f->cpu * n > b->cpu)
                n = b->cpu / f->cpu;
            if ((uint64_t)f->memory * n > b->memory)
                n = b->memory / f->memory;
            sum += f->value * n;
        }
    }
    return sum;
}

int32_t rollout_waste(struct rollout *r, const struct node_state *s)
{
    struct bench whole, now;
    bench_set(&whole, s);
    uint64_t idle = whole.whole * DEVICE_MILLI, placed = 0;
    for (uint32_t i = 0; i < whole.n_parts; i++)
        idle += whole.parts[i];
    if (!idle || !r->n)
        return 0;
    const struct course *c = course_of(r, s->kind);
    if (whole.cpu >= c->least_cpu && whole.memory >= c->least_memory) {
        for (size_t i = 0; i < ROWS; i++) {
            now = whole;
            placed += play(c, &c->rows[i], &now);
        }
    }
    uint64_t roll = idle * WASTE_MILLI - placed * (WASTE_MILLI / ROWS);
    uint64_t fill = idle * WASTE_MILLI - (used(c, &whole) >> (WEIGHTS - 10));
    return (int32_t)(roll + (fill * FILL >> 10));
}
