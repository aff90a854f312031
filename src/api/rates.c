/* For each name one number: when all that it took will have been made good. As much as a burst
 * takes to be made good may that lie ahead. */
#include "api/rates.h"

#include "base/map.h"
#include "base/mem.h"

#define LONGEST_US 60000000ull /* beyond the burst */

struct rates {
    struct rate rate;
    uint64_t burst_us;
    struct string_map *good_us; /* uint64_t by name */
};

static uint64_t cost_us(const struct rates *r, uint64_t n)
{
    return r->rate.n ? (uint64_t)((double)n * (double)r->rate.ms * 1000.0 / (double)r->rate.n) : 0;
}

struct rates *rates_create(struct rate rate)
{
    struct rates *r = mem_new(sizeof *r);
    r->rate = rate;
    r->burst_us = cost_us(r, rate.burst);
    r->good_us = string_map_create();
    return r;
}

void rates_destroy(struct rates *r)
{
    if (!r)
        return;
    string_map_destroy_with(r->good_us, free);
    free(r);
}

uint64_t rates_wait(const struct rates *r, const char *name, uint64_t now_ms)
{
    const uint64_t *good = string_map_get(r->good_us, name);
    uint64_t until_us = now_ms * 1000 + r->burst_us; /* with one more */
    uint64_t then_us = good ? *good + cost_us(r, 1) : 0;
    return then_us > until_us ? (then_us - until_us + 999) / 1000 : 0;
}

static void forget_one(struct rates *r)
{
    const char *name, *least = NULL;
    uint64_t first = UINT64_MAX;
    size_t cursor = 0;
    void *good;
    while (string_map_next(r->good_us, &cursor, &name, &good))
        if (*(uint64_t *)good < first || !least) {
            first = *(uint64_t *)good;
            least = name;
        }
    free(string_map_remove(r->good_us, least));
}

void rates_take(struct rates *r, const char *name, uint64_t now_ms, uint64_t n)
{
    uint64_t *good = string_map_get(r->good_us, name), now_us = now_ms * 1000;
    if (!r->rate.n || !n)
        return;
    if (!good) {
        if (string_map_count(r->good_us) >= RATES_MAX)
            forget_one(r);
        good = mem_new(sizeof *good);
        string_map_set(r->good_us, name, good);
    }
    *good = (*good > now_us ? *good : now_us) + cost_us(r, n);
    if (*good > now_us + r->burst_us + LONGEST_US)
        *good = now_us + r->burst_us + LONGEST_US;
}

size_t rates_count(const struct rates *r)
{
    return string_map_count(r->good_us);
}
