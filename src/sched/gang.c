/* Placing one job, all or nothing.
 *
 * First on one node. Then group by group, hardest first: each time the node that takes most of what
 * is left of the group, and of equal ones the fullest, so that a gang lies on few nodes and large
 * holes stay whole. Spread roles and tasks that ask for nothing go where fewest of them are. When
 * that fails and several groups compete, a bounded search decides. A job that may start with fewer
 * tasks is tried with all of them first; then with its least, and what else fits. */
#include "sched/gang.h"

#include "sched/choice.h"
#include "sched/fit.h"
#include "sched/scatter.h"
#include "sched/search.h"
#include "sched/shortage.h"
#include "sched/within.h"

#include <string.h>

#define SMALL 64u /* tasks that are placed without counting first whether they fit */

/* Places units of the group until it has `upto` of them. */
static bool fill(struct crew *crew, struct group *g, uint32_t upto)
{
    if (scatters(g))
        return scatter_fill(crew, g, upto);
    g->skip = NULL;
    while (g->done < upto) {
        struct choice c = choice_for(crew, g, upto - g->done);
        if (c.node == SHELF_NONE)
            break;
        uint32_t before = g->done;
        while (g->done - before < c.units && fit_put(crew, g, c.node, c.device))
            ;
        if (g->done != before)
            continue;
        /* The count was too high: ports that the job avoids, shares within a unit. */
        if (!g->skip)
            g->skip = ARENA_ARRAY(crew->arena, cluster_count(crew->cluster), uint8_t);
        g->skip[c.node] = 1;
    }
    g->skip = NULL;
    return g->done >= upto;
}

static bool fill_all(struct crew *crew)
{
    for (size_t i = 0; i < crew->n_groups; i++)
        if (!within_few(crew, &crew->groups[i], crew->groups[i].units, fill))
            return false;
    return true;
}

static bool on_one_node(struct crew *crew, uint32_t node)
{
    for (size_t i = 0; i < crew->n_groups; i++)
        while (crew->groups[i].done < crew->groups[i].units)
            if (!fit_put(crew, &crew->groups[i], node, FIT_ANY_DEVICE)) {
                fit_back(crew, 0);
                return false;
            }
    return true;
}

/* The fullest node that may hold them all is tried. */
static bool fill_one_node(struct crew *crew)
{
    for (size_t i = 0; i < crew->n_groups; i++)
        if (scatters(&crew->groups[i]) || crew->groups[i].apart)
            return false;
    uint32_t best = choice_for_all(crew);
    return best != SHELF_NONE && on_one_node(crew, best);
}

/* ---- fewer tasks than all ---- */

static uint32_t tasks_of_gang(const struct crew *crew, const struct gang *gang)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < crew->n_seats; i++)
        for (size_t k = 0; k < gang->roles.n; k++)
            n += strcmp(crew->seats[i].want->role->name, gang->roles.at[k]) == 0;
    return n;
}

/* One more unit for each group in turn, so that roles grow alike. */
static void fill_rest(struct crew *crew)
{
    bool grew = true;
    while (grew) {
        grew = false;
        for (size_t i = 0; i < crew->n_groups; i++) {
            struct group *g = &crew->groups[i];
            if (g->done < g->units && fill(crew, g, g->done + 1))
                grew = true;
        }
    }
}

/* SIZE_MAX when every group has its least, else the position of the first that has not. */
static size_t fill_least(struct crew *crew)
{
    for (size_t i = 0; i < crew->n_groups; i++)
        if (!fill(crew, &crew->groups[i], crew->groups[i].least))
            return i;
    return SIZE_MAX;
}

static struct group *short_in_gang(struct crew *crew, const struct gang *gang)
{
    for (size_t i = 0; i < crew->n_groups; i++)
        for (size_t k = 0; k < gang->roles.n; k++)
            if (crew->groups[i].done < crew->groups[i].units &&
                strcmp(crew->groups[i].members[0].want->role->name, gang->roles.at[k]) == 0)
                return &crew->groups[i];
    return crew->groups;
}

/* The rest as room appears, then the counts that gangs ask for. */
static struct group *fill_gangs(struct crew *crew)
{
    fill_rest(crew);
    for (size_t i = 0; i < crew->job->n_gangs; i++)
        if (tasks_of_gang(crew, &crew->job->gangs[i]) < crew->job->gangs[i].min)
            return short_in_gang(crew, &crew->job->gangs[i]);
    return NULL;
}

struct group *gang_stuck(struct crew *crew)
{
    size_t stuck = fill_least(crew);
    return stuck == SIZE_MAX ? fill_gangs(crew) : &crew->groups[stuck];
}

static bool counts_over_roles(const struct job_spec *job)
{
    for (size_t i = 0; i < job->n_gangs; i++)
        if (job->gangs[i].min)
            return true;
    return false;
}

static enum gang_answer place_least(struct crew *crew)
{
    if (fill_least(crew) != SIZE_MAX) {
        fit_back(crew, 0);
        enum search_answer found = search_places(crew, true);
        if (found != SEARCH_FOUND)
            return found == SEARCH_NONE ? GANG_NO_ROOM : GANG_NOT_FOUND;
    }
    if (!fill_gangs(crew))
        return GANG_PLACED;
    fit_back(crew, 0);
    return counts_over_roles(crew->job) ? GANG_NOT_FOUND : GANG_NO_ROOM;
}

/* Places that were given, in order; the others are dropped. */
static void finish(struct crew *crew)
{
    uint8_t *placed = ARENA_ARRAY(crew->arena, crew->n_places, uint8_t);
    uint32_t n = 0;
    const struct form *last = NULL;
    const char *name = NULL, *address = NULL;
    for (uint32_t i = 0; i < crew->n_seats; i++) {
        const struct form *f = cluster_form(crew->cluster, crew->seats[i].node);
        if (f != last) {
            name = arena_strdup(crew->arena, f->spec.name);
            address = arena_strdup(crew->arena, f->spec.address);
            last = f;
        }
        crew->places[crew->seats[i].place].node = name;
        crew->places[crew->seats[i].place].address = address;
        crew->places[crew->seats[i].place].hint = crew->seats[i].node + 1;
        placed[crew->seats[i].place] = 1;
    }
    for (uint32_t i = 0; i < crew->n_places; i++)
        if (placed[i])
            crew->places[n++] = crew->places[i];
    crew->n_places = n;
}

/* One group of single tasks: taking the most from each node is already certain. */
static bool filling_is_certain(const struct crew *crew)
{
    return crew->n_groups == 1 && crew->groups[0].size == 1;
}

static enum gang_answer place_all(struct crew *crew)
{
    if (fill_all(crew))
        return GANG_PLACED;
    fit_back(crew, 0);
    enum search_answer found = filling_is_certain(crew) ? SEARCH_NONE : search_places(crew, false);
    if (found == SEARCH_FOUND)
        return GANG_PLACED;
    return found == SEARCH_NONE ? GANG_NO_ROOM : GANG_NOT_FOUND;
}

static enum gang_answer place(struct crew *crew)
{
    uint32_t level;
    bool required = within_required(crew, &level), matters = within_matters(crew);
    enum gang_answer answer;
    if (required && level == DOMAIN_NONE)
        return GANG_NO_ROOM;
    /* Of a single group the node that takes most is the one that takes all. */
    if ((matters || crew->n_groups > 1) && !(required && crew->anchor != SHELF_NONE) &&
        fill_one_node(crew))
        return GANG_PLACED;
    if (matters) {
        answer = within_one(crew, false, place_all);
        if (answer != GANG_PLACED && required && crew->elastic)
            answer = within_one(crew, true, place_least);
        if (answer == GANG_PLACED || required)
            return answer;
    }
    answer = place_all(crew);
    return answer == GANG_PLACED || !crew->elastic ? answer : place_least(crew);
}

enum gang_answer gang_place(struct crew *crew)
{
    struct shortage s;
    bool small = filling_is_certain(crew) && crew->n_places <= SMALL;
    if (!small && shortage_find(crew, &s))
        return GANG_NO_ROOM;
    crew_seat(crew);
    enum gang_answer answer = place(crew);
    if (answer == GANG_PLACED)
        finish(crew);
    return answer;
}

void gang_fill(struct crew *crew)
{
    uint32_t level, units, domain;
    crew_seat(crew);
    if (crew->n_groups && within_required(crew, &level)) {
        domain = within_closest(crew, crew->groups, level, &units);
        if (domain == DOMAIN_NONE)
            return;
        crew_within(crew, &cluster_topology(crew->cluster)->levels[level], domain);
    }
    fill_rest(crew);
}

void gang_place_some(struct crew *crew)
{
    gang_fill(crew);
    finish(crew);
}
