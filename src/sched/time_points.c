/* Ten thousand ends are put in order in every pass. Comparing them costs more than the rest of many
 * a question; so they are dealt out byte by byte, the last byte first, without those bytes in which
 * all agree: times of one week differ in the lower four. Few have the same time, so only those are
 * then put in the order of their ids. */
#include "sched/time_points.h"

#include <string.h>

#define BYTES 8u
#define FEW   32u

static uint64_t key_of(const struct time_point *m, bool time)
{
    return time ? m->at_ms : m->id;
}

/* Deals by one byte. false: they all agree in it, and nothing was moved. */
static bool deal(const struct time_point *from, struct time_point *to, size_t n, unsigned byte)
{
    size_t starts[256] = { 0 }, sum = 0;
    bool time = byte >= BYTES;
    unsigned shift = 8 * (byte % BYTES);
    for (size_t i = 0; i < n; i++)
        starts[key_of(&from[i], time) >> shift & 0xff]++;
    if (starts[key_of(&from[0], time) >> shift & 0xff] == n)
        return false;
    for (size_t k = 0; k < 256; k++) {
        size_t count = starts[k];
        starts[k] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[starts[key_of(&from[i], time) >> shift & 0xff]++] = from[i];
    return true;
}

static void sort_by(struct time_point *at, struct time_point *room, size_t n, unsigned first)
{
    struct time_point *from = at, *to = room;
    for (unsigned byte = first; byte < first + BYTES && n > 1; byte++) {
        if (!deal(from, to, n, byte))
            continue;
        struct time_point *swap = from;
        from = to;
        to = swap;
    }
    if (from != at)
        memcpy(at, from, n * sizeof *at);
}

/* A few that have one time. */
static void insert_by_id(struct time_point *at, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct time_point moved = at[i];
        size_t k = i;
        for (; k > 0 && at[k - 1].id > moved.id; k--)
            at[k] = at[k - 1];
        at[k] = moved;
    }
}

void time_points_sort(struct time_point *at, struct time_point *room, size_t n)
{
    sort_by(at, room, n, BYTES);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && at[end].at_ms == at[i].at_ms;)
            end++;
        if (end - i > FEW)
            sort_by(&at[i], room, end - i, 0);
        else
            insert_by_id(&at[i], end - i);
    }
}
