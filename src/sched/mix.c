/* Counts per shape, in a sorted array of bounded length.
 *
 * Counts fade in steps: after every FADE arrivals each is multiplied by 2^(-1/8), so that an
 * arrival counts half after 8 FADE = 4096 later ones. When the array is full, the rarest shape is
 * counted as the one most like it: nothing of the sum is lost, and rows drawn from it stay as they
 * were but for a little cpu or memory. */
#include "sched/mix.h"

#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

enum {
    FADE = 512,
    FADE_TO = 60097,         /* 65536 * 2^(-1/8) */
    LEAST = MIX_ARRIVAL / 8, /* a count below is none */
    AT_ONCE = 16 * FADE      /* arrivals of one shape; more of them would say nothing new */
};
#define PARTS     ((uint64_t)1 << 20) /* in which shares of the whole are compared */
#define COUNT_MAX ((uint64_t)1 << 36)

struct table {
    struct mix_count at[MIX_SHAPES];
    size_t n;
};
struct mix {
    struct table counts, basis;
    uint64_t version;
    uint32_t since_fade;
};

struct shape shape_normal(struct shape s)
{
    if (s.share >= DEVICE_MILLI) {
        s.devices = 1;
        s.share = 0;
    }
    if (s.devices)
        s.share = 0;
    if (s.devices > MIX_DEVICES)
        s.devices = MIX_DEVICES;
    return s;
}

static int order(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_devices(const struct shape *a, const struct shape *b)
{
    int by = order(a->devices, b->devices);
    return by ? by : order(a->share, b->share);
}

int shape_compare(const struct shape *a, const struct shape *b)
{
    int by = compare_devices(a, b);
    by = by ? by : order(a->types, b->types);
    by = by ? by : order(a->cpu_milli, b->cpu_milli);
    return by ? by : order(a->memory, b->memory);
}

struct mix *mix_create(void)
{
    return mem_new(sizeof(struct mix));
}

void mix_destroy(struct mix *m)
{
    free(m);
}

uint64_t mix_version(const struct mix *m)
{
    return m->version;
}

/* ---- the table ---- */

static uint64_t total(const struct table *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += t->at[i].count;
    return sum;
}

/* The first that is not before the shape. */
static size_t place_of(const struct table *t, const struct shape *s)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (shape_compare(&t->at[middle].shape, s) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool alike(const struct table *t, size_t a, size_t b)
{
    return b < t->n && !compare_devices(&t->at[a].shape, &t->at[b].shape) &&
           t->at[a].shape.types == t->at[b].shape.types;
}

static void drop_rarest(struct table *t)
{
    size_t rarest = 0;
    for (size_t i = 1; i < t->n; i++)
        if (t->at[i].count < t->at[rarest].count)
            rarest = i;
    /* Rather the next than the one before: it asks for no less. */
    size_t next = rarest + 1, before = rarest - 1;
    size_t like = alike(t, rarest, next) ? next : alike(t, rarest, before) ? before : SIZE_MAX;
    if (like != SIZE_MAX)
        t->at[like].count += t->at[rarest].count;
    memmove(&t->at[rarest], &t->at[next], (t->n - next) * sizeof *t->at);
    t->n--;
}

static void count(struct table *t, const struct shape *s, uint64_t amount)
{
    size_t at = place_of(t, s);
    if (at == t->n || shape_compare(&t->at[at].shape, s)) {
        if (t->n == MIX_SHAPES) {
            drop_rarest(t);
            at = place_of(t, s);
        }
        memmove(&t->at[at + 1], &t->at[at], (t->n - at) * sizeof *t->at);
        t->at[at] = (struct mix_count){ .shape = *s };
        t->n++;
    }
    t->at[at].count += amount;
}

static void fade(struct table *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        t->at[i].count = t->at[i].count * FADE_TO >> 16;
        if (t->at[i].count >= LEAST)
            t->at[kept++] = t->at[i];
    }
    t->n = kept;
}

/* ---- the basis ---- */

/* Half the sum of the differences between the shares of the shapes, in PARTS. */
static uint64_t distance(const struct table *a, const struct table *b)
{
    uint64_t sum_a = total(a), sum_b = total(b), apart = 0;
    size_t i = 0, k = 0;
    while (i < a->n || k < b->n) {
        int by = i == a->n ? 1 : k == b->n ? -1 : shape_compare(&a->at[i].shape, &b->at[k].shape);
        uint64_t x = by <= 0 ? a->at[i++].count * PARTS / sum_a : 0;
        uint64_t y = by >= 0 ? b->at[k++].count * PARTS / sum_b : 0;
        apart += x > y ? x - y : y - x;
    }
    return apart / 2;
}

static void look(struct mix *m, bool faded)
{
    uint64_t now = total(&m->counts), then = total(&m->basis);
    bool due = then ? now >= 2 * then : now >= (uint64_t)MIX_FIRST * MIX_ARRIVAL;
    if (!due && faded && then)
        due = distance(&m->counts, &m->basis) > PARTS / 8;
    if (!due)
        return;
    m->basis = m->counts;
    m->version++;
}

void mix_add(struct mix *m, const struct shape *shape, uint32_t times)
{
    struct shape s = shape_normal(*shape);
    times = times < AT_ONCE ? times : AT_ONCE;
    while (times) {
        uint32_t now = FADE - m->since_fade;
        now = times < now ? times : now;
        times -= now;
        count(&m->counts, &s, (uint64_t)now * MIX_ARRIVAL);
        m->since_fade += now;
        bool faded = m->since_fade == FADE;
        if (faded) {
            fade(&m->counts);
            m->since_fade = 0;
        }
        look(m, faded);
    }
}

/* ---- saved ---- */

struct mix_numbers mix_numbers(const struct mix *m)
{
    return (struct mix_numbers){ .counts = m->counts.at,
                                 .basis = m->basis.at,
                                 .n_counts = m->counts.n,
                                 .n_basis = m->basis.n,
                                 .since_fade = m->since_fade };
}

static int check(const struct mix_count *at, size_t n, const char *what, struct err *err)
{
    if (n > MIX_SHAPES)
        return err_set(err, ERR_INPUT, "mix: %zu %s, at most %u", n, what, MIX_SHAPES);
    for (size_t i = 0; i < n; i++) {
        struct shape normal = shape_normal(at[i].shape);
        if (shape_compare(&normal, &at[i].shape) || at[i].count > COUNT_MAX || at[i].count == 0)
            return err_set(err, ERR_INPUT, "mix: %s, number %zu: no shape or no count", what, i);
        if (i && shape_compare(&at[i - 1].shape, &at[i].shape) >= 0)
            return err_set(err, ERR_INPUT, "mix: %s, number %zu: not in order", what, i);
    }
    return 0;
}

static void fill(struct table *t, const struct mix_count *at, size_t n)
{
    t->n = n;
    if (n)
        memmove(t->at, at, n * sizeof *at);
}

int mix_load(struct mix *m, const struct mix_numbers *from, struct err *err)
{
    if (check(from->counts, from->n_counts, "counts", err) ||
        check(from->basis, from->n_basis, "basis", err))
        return -1;
    if (from->since_fade >= FADE)
        return err_set(err, ERR_INPUT, "mix: since_fade is %u, below %u", from->since_fade, FADE);
    fill(&m->counts, from->counts, from->n_counts);
    fill(&m->basis, from->basis, from->n_basis);
    m->since_fade = from->since_fade;
    m->version = m->basis.n ? m->version + 1 : 0;
    return 0;
}
