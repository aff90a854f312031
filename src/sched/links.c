/* Sets of devices by the nearness of their pairs (job/gpu.h), in integers. Where there are not too
 * many, all sets are compared, which are 12,870 for 8 of 16 devices. Else a set is grown from each
 * device in turn, by the one that is nearest to what is chosen: near the best, and not always it.
 */
#include "sched/links.h"

#include "job/gpu.h"

#include <string.h>

#define SETS_MAX 20000u

struct set {
    uint64_t inside;  /* nearness of its pairs */
    uint64_t outside; /* to idle devices that are not in it */
    bool in[LINKS_MAX];
};

struct device_choice {
    const struct gpu_report *report;
    const uint32_t *idle;
    uint32_t n, want;
    uint64_t all[LINKS_MAX]; /* of each, to all idle ones */
};

static uint32_t near(const struct device_choice *c, uint32_t a, uint32_t b)
{
    return c->report->near[(size_t)c->idle[a] * c->report->n_slots + c->idle[b]];
}

/* The next one for a set, nearness[i] being how near it is to that. */
static uint32_t next_for(const struct device_choice *c, const struct set *set,
                         const uint64_t *nearness)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < c->n; i++) {
        if (set->in[i])
            continue;
        if (best == UINT32_MAX || nearness[i] > nearness[best] ||
            (nearness[i] == nearness[best] && c->all[i] < c->all[best]))
            best = i;
    }
    return best;
}

static void grow(const struct device_choice *c, uint32_t seed, struct set *set)
{
    uint64_t nearness[LINKS_MAX] = { 0 };
    uint64_t sum = 0;
    memset(set, 0, sizeof *set);
    for (uint32_t k = 0, at = seed; k < c->want; k++) {
        set->in[at] = true;
        set->inside += nearness[at];
        sum += c->all[at];
        for (uint32_t i = 0; i < c->n; i++)
            nearness[i] += i != at ? near(c, i, at) : 0;
        at = k + 1 < c->want ? next_for(c, set, nearness) : at;
    }
    set->outside = sum - 2 * set->inside;
}

static bool is_lower(const struct device_choice *c, const struct set *a, const struct set *b)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (a->in[i] != b->in[i])
            return a->in[i];
    return false;
}

static bool is_better(const struct device_choice *c, const struct set *a, const struct set *b)
{
    if (a->inside != b->inside)
        return a->inside > b->inside;
    return a->outside != b->outside ? a->outside < b->outside : is_lower(c, a, b);
}

static void keep_better(const struct device_choice *c, const struct set *set, struct set *best)
{
    if (is_better(c, set, best))
        *best = *set;
}

/* All sets that have `left` more of the devices from `from` on, besides those that set has. */
static void compare_all(const struct device_choice *c, const struct set *set, uint32_t from,
                        uint32_t left, struct set *best)
{
    if (left == 0)
        keep_better(c, set, best);
    for (uint32_t at = from; left > 0 && at + left <= c->n; at++) {
        struct set wider = *set;
        uint64_t nearness = 0;
        for (uint32_t i = 0; i < at; i++)
            nearness += set->in[i] ? near(c, i, at) : 0;
        wider.in[at] = true;
        wider.inside += nearness;
        wider.outside += c->all[at] - 2 * nearness; /* wraps on the way, not at the end */
        compare_all(c, &wider, at + 1, left - 1, best);
    }
}

static bool are_few(uint32_t n, uint32_t want)
{
    uint64_t sets = 1;
    for (uint32_t i = 0; i < want && sets <= SETS_MAX; i++)
        sets = sets * (n - i) / (i + 1);
    return sets <= SETS_MAX;
}

void links_choose(const struct gpu_report *report, const uint32_t *idle, uint32_t n, uint32_t want,
                  uint32_t *out)
{
    struct device_choice c = { .report = report, .idle = idle, .n = n, .want = want };
    const struct set none = { .inside = 0 };
    struct set best, other;
    if (!report || !report->near || n > LINKS_MAX || want == 0 || want >= n) {
        memcpy(out, idle, want * sizeof *out);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            c.all[i] += i != k ? near(&c, i, k) : 0;
    grow(&c, 0, &best);
    if (are_few(n, want))
        compare_all(&c, &none, 0, want, &best);
    else
        for (uint32_t seed = 1; seed < n; seed++) {
            grow(&c, seed, &other);
            keep_better(&c, &other, &best);
        }
    for (uint32_t i = 0, k = 0; i < n; i++)
        if (best.in[i])
            out[k++] = idle[i];
}
