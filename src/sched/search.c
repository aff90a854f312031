/* Exhaustive search with a bound.
 *
 * Placing role by role can fail where another arrangement exists. Jobs are small as a rule, so a
 * bounded search settles the question: it finds the arrangement, or makes "does not fit" a fact
 * that a wait reason may state. Units of one group are alike and are put on nodes in ascending
 * order; of devices equally full only the first is tried. */
#include "sched/search.h"

#include "sched/fit.h"

#define SEARCH_STEPS 16384u /* nodes looked at, for one job */
#define SEARCH_UNITS 64u    /* also the depth of the recursion */

struct search {
    struct placement *placement;
    bool least;
    uint32_t left; /* steps */
    bool gave_up;
    bool uncertain; /* some ways are not tried: shares within units of several tasks */
};

static bool search_group(struct search *s, size_t at, uint32_t from);

static uint32_t wanted(const struct search *s, const struct group *g)
{
    return s->least ? g->least : g->units;
}

static bool put_and_go_on(struct search *s, size_t at, uint32_t node, uint32_t device)
{
    struct placement *placement = s->placement;
    uint32_t before = placement->n_seats;
    if (!fit_put(placement, &placement->groups[at], node, device))
        return false;
    if (search_group(s, at, node))
        return true;
    fit_back(placement, before);
    return false;
}

static bool spent(struct search *s)
{
    if (s->left == 0)
        s->gave_up = true;
    else
        s->left--;
    return s->gave_up;
}

static bool seen_before(const struct cluster *c, const struct form *f, uint32_t device)
{
    for (uint32_t i = 0; i < device; i++)
        if (c->gpu[f->gpu_at + i] == c->gpu[f->gpu_at + device])
            return true;
    return false;
}

static bool try_devices(struct search *s, size_t at, uint32_t node)
{
    const struct cluster *c = s->placement->cluster;
    const struct form *f = cluster_form(c, node);
    for (uint32_t i = 0; i < f->spec.gpus && !spent(s); i++)
        if (!seen_before(c, f, i) && put_and_go_on(s, at, node, i))
            return true;
    return false;
}

/* The first node in question not before this one. */
static uint32_t next(const struct placement *placement, uint32_t node)
{
    if (!placement->among)
        return node < cluster_count(placement->cluster) ? node : POSITION_NONE;
    uint32_t low = 0, high = placement->n_among;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (placement->among[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < placement->n_among ? placement->among[low] : POSITION_NONE;
}

/* Places the group's next unit on a node not before `from`, and all that follow it. */
static bool search_group(struct search *s, size_t at, uint32_t from)
{
    struct placement *placement = s->placement;
    while (at < placement->n_groups &&
           placement->groups[at].done >= wanted(s, &placement->groups[at])) {
        at++;
        from = 0;
    }
    if (at == placement->n_groups)
        return true;
    const struct group *g = &placement->groups[at];
    for (uint32_t node = next(placement, from); node != POSITION_NONE && !spent(s);
         node = next(placement, node + 1)) {
        if (!fit_units(placement, g, node, 1))
            continue;
        bool placed = g->size == 1 && g->members[0].want->share
                          ? try_devices(s, at, node)
                          : put_and_go_on(s, at, node, FIT_ANY_DEVICE);
        if (placed)
            return true;
    }
    return false;
}

enum search_answer search_places(struct placement *placement, bool least)
{
    struct search s = { .placement = placement, .least = least, .left = SEARCH_STEPS };
    uint32_t units = 0;
    for (size_t i = 0; i < placement->n_groups; i++) {
        units += wanted(&s, &placement->groups[i]);
        for (size_t m = 0; m < placement->groups[i].n_members; m++)
            if (placement->groups[i].size > 1 && placement->groups[i].members[m].want->share)
                s.uncertain = true;
    }
    if (units > SEARCH_UNITS)
        return SEARCH_GAVE_UP;
    if (placement->steps && *placement->steps < s.left)
        s.left = *placement->steps;
    uint32_t granted = s.left;
    bool found = search_group(&s, 0, 0);
    if (placement->steps)
        *placement->steps -= granted - s.left;
    if (found)
        return SEARCH_FOUND;
    return s.gave_up || s.uncertain ? SEARCH_GAVE_UP : SEARCH_NONE;
}
