/* Placing one job, all or nothing.
 *
 * First on one node. Then group by group, hardest first: each time the node that takes most of what
 * is left of the group, and of equal ones the fullest, so that a gang lies on few nodes and large
 * holes stay whole. Spread roles and tasks that ask for nothing go where fewest of them are. When
 * that fails and several groups compete, a bounded search decides. A job that may start with fewer
 * tasks is tried with all of them first; then with its least, and what else fits. */
#include "sched/gang.h"

#include "sched/choice.h"
#include "sched/domains.h"
#include "sched/fit.h"
#include "sched/scatter.h"
#include "sched/search.h"
#include "sched/shortage.h"

#include <string.h>

#define SMALL 64u /* tasks that are placed without counting first whether they fit */

/* Places units of the group until it has `upto` of them. */
static bool fill(struct placement *placement, struct group *g, uint32_t upto)
{
    if (scatters(g))
        return scatter_fill(placement, g, upto);
    g->skip = NULL;
    while (g->done < upto) {
        struct choice c = choice_for(placement, g, upto - g->done);
        if (c.node == POSITION_NONE)
            break;
        uint32_t before = g->done;
        while (g->done - before < c.units && fit_put(placement, g, c.node, c.device))
            ;
        if (g->done != before)
            continue;
        /* The count was too high: ports that the job avoids, shares within a unit. */
        if (!g->skip)
            g->skip = ARENA_ARRAY(placement->arena, cluster_count(placement->cluster), uint8_t);
        g->skip[c.node] = 1;
    }
    g->skip = NULL;
    return g->done >= upto;
}

static bool fill_all(struct placement *placement)
{
    for (size_t i = 0; i < placement->n_groups; i++)
        if (!domain_place_few(placement, &placement->groups[i], placement->groups[i].units, fill))
            return false;
    return true;
}

static bool on_one_node(struct placement *placement, uint32_t node)
{
    for (size_t i = 0; i < placement->n_groups; i++)
        while (placement->groups[i].done < placement->groups[i].units)
            if (!fit_put(placement, &placement->groups[i], node, FIT_ANY_DEVICE)) {
                fit_back(placement, 0);
                return false;
            }
    return true;
}

/* The fullest node that may hold them all is tried. */
static bool fill_one_node(struct placement *placement)
{
    for (size_t i = 0; i < placement->n_groups; i++)
        if (scatters(&placement->groups[i]) || placement->groups[i].apart)
            return false;
    uint32_t best = choice_for_all(placement);
    return best != POSITION_NONE && on_one_node(placement, best);
}

/* ---- fewer tasks than all ---- */

static uint32_t tasks_of_gang(const struct placement *placement, const struct gang *gang)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < placement->n_seats; i++)
        for (size_t k = 0; k < gang->roles.n; k++)
            n += strcmp(placement->seats[i].want->role->name, gang->roles.at[k]) == 0;
    return n;
}

/* One more unit for each group in turn, so that roles grow alike. */
static void fill_rest(struct placement *placement)
{
    bool grew = true;
    while (grew) {
        grew = false;
        for (size_t i = 0; i < placement->n_groups; i++) {
            struct group *g = &placement->groups[i];
            if (g->done < g->units && fill(placement, g, g->done + 1))
                grew = true;
        }
    }
}

/* SIZE_MAX when every group has its least, else the position of the first that has not. */
static size_t fill_least(struct placement *placement)
{
    for (size_t i = 0; i < placement->n_groups; i++)
        if (!fill(placement, &placement->groups[i], placement->groups[i].least))
            return i;
    return SIZE_MAX;
}

static struct group *short_in_gang(struct placement *placement, const struct gang *gang)
{
    for (size_t i = 0; i < placement->n_groups; i++)
        for (size_t k = 0; k < gang->roles.n; k++)
            if (placement->groups[i].done < placement->groups[i].units &&
                strcmp(placement->groups[i].members[0].want->role->name, gang->roles.at[k]) == 0)
                return &placement->groups[i];
    return placement->groups;
}

/* The rest as room appears, then the counts that gangs ask for. */
static struct group *fill_gangs(struct placement *placement)
{
    fill_rest(placement);
    for (size_t i = 0; i < placement->job->n_gangs; i++)
        if (tasks_of_gang(placement, &placement->job->gangs[i]) < placement->job->gangs[i].min)
            return short_in_gang(placement, &placement->job->gangs[i]);
    return NULL;
}

struct group *gang_stuck(struct placement *placement)
{
    size_t stuck = fill_least(placement);
    return stuck == SIZE_MAX ? fill_gangs(placement) : &placement->groups[stuck];
}

static bool counts_over_roles(const struct job_spec *job)
{
    for (size_t i = 0; i < job->n_gangs; i++)
        if (job->gangs[i].min)
            return true;
    return false;
}

static enum gang_answer place_least(struct placement *placement)
{
    if (fill_least(placement) != SIZE_MAX) {
        fit_back(placement, 0);
        enum search_answer found = search_places(placement, true);
        if (found != SEARCH_FOUND)
            return found == SEARCH_NONE ? GANG_NO_ROOM : GANG_NOT_FOUND;
    }
    if (!fill_gangs(placement))
        return GANG_PLACED;
    fit_back(placement, 0);
    return counts_over_roles(placement->job) ? GANG_NOT_FOUND : GANG_NO_ROOM;
}

/* Places that were given, in order; the others are dropped. */
static void finish(struct placement *placement)
{
    uint8_t *placed = ARENA_ARRAY(placement->arena, placement->n_places, uint8_t);
    uint32_t n = 0;
    const struct form *last = NULL;
    const char *name = NULL, *address = NULL;
    for (uint32_t i = 0; i < placement->n_seats; i++) {
        const struct form *f = cluster_form(placement->cluster, placement->seats[i].node);
        if (f != last) {
            name = arena_strdup(placement->arena, f->spec.name);
            address = arena_strdup(placement->arena, f->spec.address);
            last = f;
        }
        placement->places[placement->seats[i].place].node = name;
        placement->places[placement->seats[i].place].address = address;
        placement->places[placement->seats[i].place].hint = placement->seats[i].node + 1;
        placed[placement->seats[i].place] = 1;
    }
    for (uint32_t i = 0; i < placement->n_places; i++)
        if (placed[i])
            placement->places[n++] = placement->places[i];
    placement->n_places = n;
}

/* One group of single tasks: taking the most from each node is already certain. */
static bool filling_is_certain(const struct placement *placement)
{
    return placement->n_groups == 1 && placement->groups[0].size == 1;
}

static enum gang_answer place_all(struct placement *placement)
{
    if (fill_all(placement))
        return GANG_PLACED;
    fit_back(placement, 0);
    enum search_answer found =
        filling_is_certain(placement) ? SEARCH_NONE : search_places(placement, false);
    if (found == SEARCH_FOUND)
        return GANG_PLACED;
    return found == SEARCH_NONE ? GANG_NO_ROOM : GANG_NOT_FOUND;
}

static enum gang_answer place(struct placement *placement)
{
    uint32_t level;
    bool required = domain_required(placement, &level), matters = domain_matters(placement);
    enum gang_answer answer;
    if (required && level == DOMAIN_NONE)
        return GANG_NO_ROOM;
    /* Of a single group the node that takes most is the one that takes all. */
    if ((matters || placement->n_groups > 1) && !(required && placement->anchor != POSITION_NONE) &&
        fill_one_node(placement))
        return GANG_PLACED;
    if (matters) {
        answer = domain_place_one(placement, false, place_all);
        if (answer != GANG_PLACED && required && placement->elastic)
            answer = domain_place_one(placement, true, place_least);
        if (answer == GANG_PLACED || required)
            return answer;
    }
    answer = place_all(placement);
    return answer == GANG_PLACED || !placement->elastic ? answer : place_least(placement);
}

enum gang_answer gang_place(struct placement *placement)
{
    struct shortage s;
    bool small = filling_is_certain(placement) && placement->n_places <= SMALL;
    if (!small && shortage_find(placement, &s))
        return GANG_NO_ROOM;
    placement_room(placement);
    enum gang_answer answer = place(placement);
    if (answer == GANG_PLACED)
        finish(placement);
    return answer;
}

void gang_fill(struct placement *placement)
{
    uint32_t level, units, domain;
    placement_room(placement);
    if (placement->n_groups && domain_required(placement, &level)) {
        domain = domain_closest(placement, placement->groups, level, &units);
        if (domain == DOMAIN_NONE)
            return;
        placement_in_domain(placement, &cluster_topology(placement->cluster)->levels[level],
                            domain);
    }
    fill_rest(placement);
}

void gang_place_some(struct placement *placement)
{
    gang_fill(placement);
    finish(placement);
}
