/* Domains for a job.
 *
 * What a domain holds is counted node by node for each group; with the states of the nodes known
 * that is one look at a number each. Among domains that hold all of it the one is best that has
 * least of that room left afterwards, then the one with least gpu free: a hole in a full rack is
 * worth less than one in an empty rack. Where no domain holds all, the largest is filled first,
 * which makes them the fewest, and what then remains goes where it fits most tightly; inside each
 * the same again, one level further in. */
#include "sched/within.h"

#include "sched/choice.h"
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

bool within_required(const struct crew *crew, uint32_t *level)
{
    const struct placing *placing = &crew->job->placing;
    *level = DOMAIN_NONE;
    if (!placing->within || !placing->within_required)
        return false;
    *level = topology_level(cluster_topology(crew->cluster), placing->within);
    return true;
}

bool within_matters(const struct crew *crew)
{
    uint32_t level;
    if (within_required(crew, &level))
        return true;
    return cluster_topology(crew->cluster)->n > 0 &&
           (crew->n_places > 1 || crew->anchor != SHELF_NONE);
}

/* Room for the group in each domain of the level. */
static void count_rooms(const struct crew *crew, const struct group *g, const struct level *level,
                        uint64_t *rooms)
{
    for (uint32_t d = 0; d < level->n; d++)
        rooms[d] = 0;
    for (uint32_t i = 0, n = crew->among ? crew->n_among : cluster_count(crew->cluster); i < n;
         i++) {
        uint32_t node = crew->among ? crew->among[i] : i;
        if (level->of[node] != DOMAIN_NONE)
            rooms[level->of[node]] += choice_units(crew, g, node, g->units);
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

static uint64_t gpu_free(const struct crew *crew, const struct level *level, uint32_t domain)
{
    const struct shelves *s = shelves_of(crew->cluster);
    const struct domain *d = &level->domains[domain];
    uint64_t free = 0;
    for (uint32_t i = 0; i < d->n; i++)
        free += s->at[s->of[level->nodes[d->at + i]]].gpu;
    return free;
}

/* The domains of the level that hold each group, best first. */
static uint32_t candidates(struct crew *crew, const struct level *level, bool least,
                           struct domain_capacity **out)
{
    struct domain_capacity *all = *out = ARENA_ARRAY(crew->arena, level->n, struct domain_capacity);
    uint64_t *rooms = ARENA_ARRAY(crew->arena, level->n, uint64_t);
    uint32_t n = level->n, kept = 0;
    for (uint32_t d = 0; d < n; d++)
        all[d].domain = d;
    for (size_t i = 0; i < crew->n_groups; i++, n = kept) {
        const struct group *g = &crew->groups[i];
        uint64_t needed = limit_of(g, least);
        count_rooms(crew, g, level, rooms);
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
        all[k].gpu = gpu_free(crew, level, all[k].domain);
    qsort(all, n, sizeof *all, by_tightness);
    return n;
}

static enum gang_answer try_domain(struct crew *crew, const struct level *level, uint32_t domain,
                                   way_fn *way)
{
    crew_within(crew, level, domain);
    enum gang_answer answer = way(crew);
    crew_within(crew, NULL, DOMAIN_NONE);
    return answer;
}

/* Tasks that have to join others have no choice. */
static enum gang_answer try_level(struct crew *crew, const struct level *level, bool least,
                                  way_fn *way)
{
    if (crew->anchor != SHELF_NONE)
        return level->of[crew->anchor] == DOMAIN_NONE
                   ? GANG_NO_ROOM
                   : try_domain(crew, level, level->of[crew->anchor], way);
    struct domain_capacity *rooms;
    uint32_t n = candidates(crew, level, least, &rooms);
    enum gang_answer answer = n > TRIES ? GANG_NOT_FOUND : GANG_NO_ROOM;
    for (uint32_t i = 0; i < n && i < TRIES; i++) {
        enum gang_answer here = try_domain(crew, level, rooms[i].domain, way);
        if (here == GANG_PLACED)
            return here;
        answer = here == GANG_NO_ROOM ? answer : here;
    }
    return answer;
}

enum gang_answer within_one(struct crew *crew, bool least, way_fn *way)
{
    const struct topology *t = cluster_topology(crew->cluster);
    uint32_t outermost = 0;
    bool required = within_required(crew, &outermost);
    if (!required)
        outermost = 0;
    enum gang_answer answer =
        outermost == t->n ? try_level(crew, &t->levels[t->n], least, way) : GANG_NO_ROOM;
    for (uint32_t i = t->n; answer != GANG_PLACED && i-- > outermost;) {
        enum gang_answer here = try_level(crew, &t->levels[i], least, way);
        answer = here == GANG_NO_ROOM ? answer : here;
    }
    return answer;
}

/* ---- few domains ---- */

struct cover {
    struct crew *crew;
    struct group *group;
    fill_fn *fill;
    const struct topology *t;
};

static bool cover_level(struct cover *c, uint32_t at, uint32_t outer, uint32_t upto);

/* Inside the domain, which is all that is in question now. */
static bool cover_inside(struct cover *c, const struct level *level, uint32_t domain, uint32_t upto)
{
    const struct level *was = c->crew->level;
    uint32_t was_domain = c->crew->domain, at = (uint32_t)(level - c->t->levels) + 1;
    crew_within(c->crew, level, domain);
    bool done = at < c->t->n && cover_level(c, at, domain, upto);
    done = done || c->fill(c->crew, c->group, upto);
    crew_within(c->crew, was, was_domain);
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
    uint64_t *units = ARENA_ARRAY(c->crew->arena, level->n, uint64_t);
    struct domain_capacity *rooms = ARENA_ARRAY(c->crew->arena, level->n, struct domain_capacity);
    uint32_t n = 0;
    count_rooms(c->crew, c->group, level, units);
    for (uint32_t d = 0; d < level->n; d++)
        if (units[d] && (at == 0 || level->domains[d].outer == outer))
            rooms[n++] = (struct domain_capacity){ .domain = d,
                                                   .units = units[d],
                                                   .gpu = gpu_free(c->crew, level, d) };
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

bool within_few(struct crew *crew, struct group *g, uint32_t upto, fill_fn *fill)
{
    struct cover c = {
        .crew = crew, .group = g, .fill = fill, .t = cluster_topology(crew->cluster)
    };
    uint32_t from = crew->level ? (uint32_t)(crew->level - c.t->levels) + 1 : 0;
    bool one = crew->n_places == 1 || scatters(g);
    if (g->done >= upto)
        return true;
    return (!one && from < c.t->n && cover_level(&c, from, crew->domain, upto)) ||
           fill(crew, g, upto);
}

uint32_t within_closest(struct crew *crew, const struct group *g, uint32_t level, uint32_t *units)
{
    *units = 0;
    if (level == DOMAIN_NONE)
        return DOMAIN_NONE;
    const struct level *l = &cluster_topology(crew->cluster)->levels[level];
    uint64_t *rooms = ARENA_ARRAY(crew->arena, l->n, uint64_t);
    uint32_t best = DOMAIN_NONE;
    count_rooms(crew, g, l, rooms);
    if (crew->anchor != SHELF_NONE)
        best = l->of[crew->anchor];
    for (uint32_t d = 0; crew->anchor == SHELF_NONE && d < l->n; d++)
        if (best == DOMAIN_NONE || rooms[d] > rooms[best])
            best = d;
    if (best != DOMAIN_NONE)
        *units = rooms[best] < UINT32_MAX ? (uint32_t)rooms[best] : UINT32_MAX;
    return best;
}
