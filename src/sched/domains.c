/* Domains for a job.
 *
 * What a domain holds is counted node by node for each group; with the states of the nodes known
 * that is one look at a number each. Among domains that hold all of it the one is best that has
 * least of that room left afterwards, then the one with least gpu free: a hole in a full rack is
 * worth less than one in an empty rack. Where no domain holds all, the largest is filled first,
 * which makes them the fewest, and what then remains goes where it fits most tightly; inside each
 * the same again, one level further in. */
#include "sched/domains.h"

#include "sched/choice.h"
#include "sched/classify.h"
#include "sched/scatter.h"

#include <stdlib.h>

#define TRIES 8u /* domains of a level, for a job whose groups may stand in each other's way */

struct domain_capacity { /* of a domain */
    uint32_t domain;
    uint64_t units, spare; /* that it holds of the first group; without those that are asked for */
    uint64_t gpu;          /* free */
};

static uint32_t limit_of(const struct group *g, bool least)
{
    return least ? g->least : g->units;
}

bool domain_required(const struct placement *placement, uint32_t *level)
{
    const struct placing *placing = &placement->job->placing;
    *level = DOMAIN_NONE;
    if (!placing->within || !placing->within_required)
        return false;
    *level = topology_level(cluster_topology(placement->cluster), placing->within);
    return true;
}

bool domain_matters(const struct placement *placement)
{
    uint32_t level;
    if (domain_required(placement, &level))
        return true;
    return cluster_topology(placement->cluster)->n > 0 &&
           (placement->n_places > 1 || placement->anchor != POSITION_NONE);
}

/* Room for the group in each domain of the level. */
static void count_rooms(const struct placement *placement, const struct group *g,
                        const struct level *level, uint64_t *rooms)
{
    for (uint32_t d = 0; d < level->n; d++)
        rooms[d] = 0;
    for (uint32_t i = 0,
                  n = placement->among ? placement->n_among : cluster_count(placement->cluster);
         i < n; i++) {
        uint32_t node = placement->among ? placement->among[i] : i;
        if (level->of[node] != DOMAIN_NONE)
            rooms[level->of[node]] += choice_units(placement, g, node, g->units);
    }
}

static int by_tightness(const void *a, const void *b)
{
    const struct domain_capacity *x = a, *y = b;
    if (x->spare != y->spare)
        return x->spare < y->spare ? -1 : 1;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    return x->domain < y->domain ? -1 : 1;
}

static uint64_t gpu_free(const struct placement *placement, const struct level *level,
                         uint32_t domain)
{
    const struct node_classes *s = node_classes_of(placement->cluster);
    const struct domain *d = &level->domains[domain];
    uint64_t free = 0;
    for (uint32_t i = 0; i < d->n; i++)
        free += s->at[s->of[level->nodes[d->at + i]]].gpu;
    return free;
}

/* The domains of the level that hold each group, best first. */
static uint32_t candidates(struct placement *placement, const struct level *level, bool least,
                           struct domain_capacity **out)
{
    struct domain_capacity *all = *out =
        ARENA_ARRAY(placement->arena, level->n, struct domain_capacity);
    uint64_t *rooms = ARENA_ARRAY(placement->arena, level->n, uint64_t);
    uint32_t n = level->n, kept = 0;
    for (uint32_t d = 0; d < n; d++)
        all[d].domain = d;
    for (size_t i = 0; i < placement->n_groups; i++, n = kept) {
        const struct group *g = &placement->groups[i];
        uint64_t needed = limit_of(g, least);
        count_rooms(placement, g, level, rooms);
        kept = 0;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t units = rooms[all[k].domain];
            if (units < needed)
                continue;
            all[kept] = all[k];
            if (i == 0) {
                all[kept].units = units;
                all[kept].spare = units - needed;
            }
            kept++;
        }
    }
    for (uint32_t k = 0; k < n; k++)
        all[k].gpu = gpu_free(placement, level, all[k].domain);
    qsort(all, n, sizeof *all, by_tightness);
    return n;
}

static enum gang_answer try_domain(struct placement *placement, const struct level *level,
                                   uint32_t domain, way_fn *way)
{
    placement_in_domain(placement, level, domain);
    enum gang_answer answer = way(placement);
    placement_in_domain(placement, NULL, DOMAIN_NONE);
    return answer;
}

/* Tasks that have to join others have no choice. */
static enum gang_answer try_level(struct placement *placement, const struct level *level,
                                  bool least, way_fn *way)
{
    if (placement->anchor != POSITION_NONE)
        return level->of[placement->anchor] == DOMAIN_NONE
                   ? GANG_NO_ROOM
                   : try_domain(placement, level, level->of[placement->anchor], way);
    struct domain_capacity *rooms;
    uint32_t n = candidates(placement, level, least, &rooms);
    enum gang_answer answer = n > TRIES ? GANG_NOT_FOUND : GANG_NO_ROOM;
    for (uint32_t i = 0; i < n && i < TRIES; i++) {
        enum gang_answer here = try_domain(placement, level, rooms[i].domain, way);
        if (here == GANG_PLACED)
            return here;
        answer = here == GANG_NO_ROOM ? answer : here;
    }
    return answer;
}

enum gang_answer domain_place_one(struct placement *placement, bool least, way_fn *way)
{
    const struct topology *t = cluster_topology(placement->cluster);
    uint32_t outermost = 0;
    bool required = domain_required(placement, &outermost);
    if (!required)
        outermost = 0;
    enum gang_answer answer =
        outermost == t->n ? try_level(placement, &t->levels[t->n], least, way) : GANG_NO_ROOM;
    for (uint32_t i = t->n; answer != GANG_PLACED && i-- > outermost;) {
        enum gang_answer here = try_level(placement, &t->levels[i], least, way);
        answer = here == GANG_NO_ROOM ? answer : here;
    }
    return answer;
}

/* ---- few domains ---- */

struct cover {
    struct placement *placement;
    struct group *group;
    fill_fn *fill;
    const struct topology *t;
};

static bool cover_level(struct cover *c, uint32_t at, uint32_t outer, uint32_t upto);

/* Inside the domain, which is all that is in question now. */
static bool cover_inside(struct cover *c, const struct level *level, uint32_t domain, uint32_t upto)
{
    const struct level *was = c->placement->level;
    uint32_t was_domain = c->placement->domain, at = (uint32_t)(level - c->t->levels) + 1;
    placement_in_domain(c->placement, level, domain);
    bool done = at < c->t->n && cover_level(c, at, domain, upto);
    done = done || c->fill(c->placement, c->group, upto);
    placement_in_domain(c->placement, was, was_domain);
    return done;
}

/* Tightest that holds `left` units, or the largest. */
static struct domain_capacity *pick_room(struct domain_capacity *rooms, uint32_t n, uint64_t left)
{
    struct domain_capacity *best = NULL;
    for (uint32_t i = 0; i < n; i++) {
        struct domain_capacity *r = &rooms[i];
        if (!r->units)
            continue;
        bool holds = r->units >= left, best_holds = best && best->units >= left;
        r->spare = holds ? r->units - left : UINT64_MAX - r->units;
        if (!best || (holds && !best_holds) || (holds == best_holds && by_tightness(r, best) < 0))
            best = r;
    }
    return best;
}

static bool cover_level(struct cover *c, uint32_t at, uint32_t outer, uint32_t upto)
{
    const struct level *level = &c->t->levels[at];
    uint64_t *units = ARENA_ARRAY(c->placement->arena, level->n, uint64_t);
    struct domain_capacity *rooms =
        ARENA_ARRAY(c->placement->arena, level->n, struct domain_capacity);
    uint32_t n = 0;
    count_rooms(c->placement, c->group, level, units);
    for (uint32_t d = 0; d < level->n; d++)
        if (units[d] && (at == 0 || level->domains[d].outer == outer))
            rooms[n++] = (struct domain_capacity){ .domain = d,
                                                   .units = units[d],
                                                   .gpu = gpu_free(c->placement, level, d) };
    while (c->group->done < upto) {
        uint32_t left = upto - c->group->done;
        struct domain_capacity *r = pick_room(rooms, n, left);
        if (!r)
            return false;
        uint32_t here = r->units < left ? (uint32_t)r->units : left;
        r->units = 0;
        cover_inside(c, level, r->domain, c->group->done + here);
    }
    return true;
}

bool domain_place_few(struct placement *placement, struct group *g, uint32_t upto, fill_fn *fill)
{
    struct cover c = {
        .placement = placement, .group = g, .fill = fill, .t = cluster_topology(placement->cluster)
    };
    uint32_t from = placement->level ? (uint32_t)(placement->level - c.t->levels) + 1 : 0;
    bool one = placement->n_places == 1 || scatters(g);
    if (g->done >= upto)
        return true;
    return (!one && from < c.t->n && cover_level(&c, from, placement->domain, upto)) ||
           fill(placement, g, upto);
}

uint32_t domain_closest(struct placement *placement, const struct group *g, uint32_t level,
                        uint32_t *units)
{
    *units = 0;
    if (level == DOMAIN_NONE)
        return DOMAIN_NONE;
    const struct level *l = &cluster_topology(placement->cluster)->levels[level];
    uint64_t *rooms = ARENA_ARRAY(placement->arena, l->n, uint64_t);
    uint32_t best = DOMAIN_NONE;
    count_rooms(placement, g, l, rooms);
    if (placement->anchor != POSITION_NONE)
        best = l->of[placement->anchor];
    for (uint32_t d = 0; placement->anchor == POSITION_NONE && d < l->n; d++)
        if (best == DOMAIN_NONE || rooms[d] > rooms[best])
            best = d;
    if (best != DOMAIN_NONE)
        *units = rooms[best] < UINT32_MAX ? (uint32_t)rooms[best] : UINT32_MAX;
    return best;
}
