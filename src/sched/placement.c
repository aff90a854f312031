/* Making groups of a job's tasks.
 *
 * Roles of a `together` set form units: with g the greatest common divisor of their replicas there
 * are g units, each with replicas/g tasks of every role. Where roles say per_group, a unit has that
 * many of them; a role with per_group is a set of its own. Every other role has units of one task.
 * Groups are ordered so that what fits in few places comes first: ports by number, then gpu, cpu,
 * memory. */
#include "sched/placement.h"

#include "base/err.h"
#include "sched/classify.h"

#include <stdlib.h>
#include <string.h>

/* The roles whose tasks make a unit with those of this one; none: its tasks go one by one. */
static struct words together_with(const struct job_spec *job, struct role *role)
{
    for (size_t i = 0; i < job->placing.n_together; i++)
        if (words_have(&job->placing.together[i].roles, role->name))
            return job->placing.together[i].roles;
    return role->per_group > 1 ? (struct words){ .at = &role->name, .n = 1 } : (struct words){ 0 };
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Units of a set: as many as its roles have groups, or what divides them all. */
static uint32_t set_units(const struct job_spec *job, const struct words *set)
{
    uint32_t units = 0;
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct role *role = &job->roles[i];
        if (words_have(set, role->name) && role->replicas)
            units = common_divisor(job_groups(role), units);
    }
    return units;
}

static uint32_t role_least(const struct role *r)
{
    return r->min && r->min < r->replicas ? r->min : r->replicas;
}

/* A gang that counts over its roles leaves it to the count which of them come; one of a single role
 * says how many of it. */
uint32_t placement_least(const struct job_spec *job, const struct role *r)
{
    uint32_t least = role_least(r), own = least == r->replicas ? 0 : least;
    for (size_t i = 0; i < job->n_gangs; i++) {
        const struct gang *gang = &job->gangs[i];
        if (!gang->min || !words_have(&gang->roles, r->name))
            continue;
        least = own;
        if (gang->roles.n == 1 && gang->min > least)
            least = gang->min < r->replicas ? gang->min : r->replicas;
    }
    return least;
}

/* What a first look at a node asks. */
static void sum_up(struct group *g)
{
    g->plain = true;
    for (size_t i = 0; i < g->n_demands; i++) {
        const struct demand *d = &g->demands[i];
        g->cpu = d->kind == DEMAND_CPU ? d->need : g->cpu;
        g->memory = d->kind == DEMAND_MEMORY ? d->need : g->memory;
        g->devices = d->kind == DEMAND_GPU ? (uint32_t)(d->need / 1000) : g->devices;
        g->share = d->kind == DEMAND_SHARE && d->one_device ? (uint32_t)d->need : g->share;
        g->plain = g->plain && d->kind != DEMAND_DISK && d->kind != DEMAND_CUSTOM &&
                   (d->kind != DEMAND_SHARE || d->one_device);
        g->has_ports = g->has_ports || d->kind == DEMAND_PORT || d->kind == DEMAND_PORTS;
    }
}

static void group_finish(struct placement *placement, struct group *g)
{
    g->order = (uint32_t)placement->n_groups;
    g->demands = demand_list(placement->arena, g->members, g->n_members, &g->n_demands);
    g->nothing = true;
    g->stamp = node_classes_stamp(placement->cluster);
    sum_up(g);
    for (size_t i = 0; i < g->n_members; i++) {
        const struct task_request *w = g->members[i].want;
        g->nothing = g->nothing && task_request_is_nothing(w);
        g->has_static_ports = g->has_static_ports || w->has_static_ports;
        g->spread = g->spread || words_have(&placement->job->placing.spread, w->role->name);
        g->apart = g->apart || words_have(&placement->job->placing.apart, w->role->name);
        g->picky = g->picky || !task_request_is_of_kind(w, placement->cluster->layout->kinds);
    }
    for (size_t i = 0; i < g->n_demands; i++)
        g->picky = g->picky || (g->demands[i].type && placement->cluster->layout->kinds->mixed);
    g->picky = g->picky || g->apart || g->pin != POSITION_NONE;
    if (g->spread || g->apart)
        g->on = ARENA_ARRAY(placement->arena, cluster_count(placement->cluster), uint32_t);
}

static void group_of_role(struct placement *placement, const struct task_request *w)
{
    struct group *g = &placement->groups[placement->n_groups++];
    g->name = w->role->name;
    g->members = ARENA_NEW(placement->arena, struct member);
    g->members[g->n_members++] = (struct member){ .want = w, .per = 1 };
    g->size = 1;
    g->units = w->role->replicas;
    g->least = placement_least(placement->job, w->role);
    g->pin = UINT32_MAX;
    group_finish(placement, g);
}

static void group_of_set(struct placement *placement, const struct task_request *wants,
                         const struct words *set)
{
    struct group *g = &placement->groups[placement->n_groups++];
    const struct job_spec *job = placement->job;
    g->members = ARENA_ARRAY(placement->arena, job->n_roles, struct member);
    g->pin = UINT32_MAX;
    g->units = set_units(job, set);
    if (!g->units)
        BUG("a set of roles without tasks");
    for (uint32_t i = 0; i < job->n_roles; i++) {
        if (!words_have(set, job->roles[i].name) || !job->roles[i].replicas)
            continue;
        g->members[g->n_members++] = (struct member){ .want = &wants[i] };
        g->name = g->name ? arena_printf(placement->arena, "%s+%s", g->name, job->roles[i].name)
                          : job->roles[i].name;
    }
    for (size_t m = 0; m < g->n_members; m++) {
        struct member *member = &g->members[m];
        member->per = member->want->role->replicas / g->units;
        g->size += member->per;
        uint32_t least = (placement_least(job, member->want->role) + member->per - 1) / member->per;
        g->least = least > g->least ? least : g->least;
    }
    group_finish(placement, g);
}

static uint64_t group_need(const struct group *g, enum demand_kind kind)
{
    for (size_t i = 0; i < g->n_demands; i++)
        if (g->demands[i].kind == kind)
            return g->demands[i].need;
    return 0;
}

static int by_hardness(const void *a, const void *b)
{
    static const enum demand_kind order[] = { DEMAND_GPU, DEMAND_SHARE, DEMAND_CPU, DEMAND_MEMORY };
    const struct group *x = a, *y = b;
    if (x->has_static_ports != y->has_static_ports)
        return x->has_static_ports ? -1 : 1;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        uint64_t nx = group_need(x, order[i]), ny = group_need(y, order[i]);
        if (nx != ny)
            return nx > ny ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1; /* qsort is not stable by itself */
}

static void collect_avoided(struct placement *placement)
{
    size_t most = 0;
    for (size_t r = 0; r < placement->job->n_roles; r++)
        most += placement->job->roles[r].n_ports;
    placement->avoid = ARENA_ARRAY(placement->arena, most, struct port_range);
    for (size_t r = 0; r < placement->job->n_roles; r++)
        for (size_t i = 0; i < placement->job->roles[r].n_ports; i++) {
            const struct port_request *p = &placement->job->roles[r].ports[i];
            if (p->first && !p->prefer)
                placement->avoid[placement->n_avoid++] =
                    (struct port_range){ .first = p->first, .last = p->first + p->count - 1 };
        }
}

static int by_position(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void collect_named(struct placement *placement)
{
    const struct words *names = &placement->job->placing.nodes;
    uint32_t n = 0;
    if (!names->n)
        return;
    placement->named = ARENA_ARRAY(placement->arena, names->n, uint32_t);
    for (size_t i = 0; i < names->n; i++) {
        uint32_t node = cluster_find(placement->cluster, names->at[i]);
        if (node != UINT32_MAX)
            placement->named[n++] = node;
    }
    qsort(placement->named, n, sizeof *placement->named, by_position);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || placement->named[i] != placement->named[i - 1])
            placement->named[placement->n_named++] = placement->named[i];
}

void placement_in_domain(struct placement *placement, const struct level *level, uint32_t domain)
{
    placement->level = level;
    placement->domain = domain;
    placement->among = placement->named;
    placement->n_among = placement->n_named;
    if (!level)
        return;
    const struct domain *d = &level->domains[domain];
    placement->among = &level->nodes[d->at];
    placement->n_among = d->n;
    if (!placement->named)
        return;
    uint32_t *both = ARENA_ARRAY(placement->arena, placement->n_named, uint32_t), n = 0;
    for (uint32_t i = 0; i < placement->n_named; i++)
        if (level->of[placement->named[i]] == domain)
            both[n++] = placement->named[i];
    placement->among = both;
    placement->n_among = n;
}

static struct task_request *begin(struct placement *placement, struct arena *arena,
                                  struct cluster *cluster, const struct job_spec *job)
{
    *placement = (struct placement){ .arena = arena, .cluster = cluster, .job = job };
    struct task_request *wants = ARENA_ARRAY(arena, job->n_roles, struct task_request);
    for (uint32_t i = 0; i < job->n_roles; i++)
        task_request_init(&wants[i], job, i);
    collect_avoided(placement);
    collect_named(placement);
    placement->anchor = POSITION_NONE;
    placement_in_domain(placement, NULL, DOMAIN_NONE);
    return wants;
}

/* The first role of a set makes its group. */
static bool leads(const struct job_spec *job, uint32_t role, const struct words *set)
{
    for (uint32_t i = 0; i < role; i++)
        if (job->roles[i].replicas && words_have(set, job->roles[i].name))
            return false;
    return true;
}

void placement_init(struct placement *placement, struct arena *arena, struct cluster *cluster,
                    const struct job_spec *job)
{
    const struct task_request *wants = begin(placement, arena, cluster, job);
    placement->groups = ARENA_ARRAY(arena, job->n_roles, struct group);
    for (uint32_t i = 0; i < job->n_roles; i++) {
        const struct words set = together_with(job, &job->roles[i]);
        placement->n_places += job->roles[i].replicas;
        if (!job->roles[i].replicas)
            continue;
        if (!set.n)
            group_of_role(placement, &wants[i]);
        else if (leads(job, i, &set))
            group_of_set(placement, wants, &set);
    }
    for (size_t i = 0; i < placement->n_groups; i++)
        placement->elastic =
            placement->elastic || placement->groups[i].least < placement->groups[i].units;
    qsort(placement->groups, placement->n_groups, sizeof *placement->groups, by_hardness);
}

static uint32_t role_first_place(const struct job_spec *job, uint32_t role)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < role; i++)
        first += job->roles[i].replicas;
    return first;
}

static void group_fill_units(struct placement *placement, struct group *g)
{
    g->tasks = ARENA_ARRAY(placement->arena, (size_t)g->units * g->size, struct group_task);
    for (uint32_t unit = 0, at = 0; unit < g->units; unit++)
        for (size_t m = 0; m < g->n_members; m++) {
            const struct member *member = &g->members[m];
            uint32_t first =
                role_first_place(placement->job, member->want->at) + unit * member->per;
            for (uint32_t k = 0; k < member->per; k++)
                g->tasks[at++] = (struct group_task){ .want = member->want, .place = first + k };
        }
}

void placement_room(struct placement *placement)
{
    const struct job_spec *job = placement->job;
    if (placement->seats)
        return;
    placement->places = ARENA_ARRAY(placement->arena, placement->n_places, struct task_place);
    placement->seats = ARENA_ARRAY(placement->arena, placement->n_places, struct placed_task);
    for (uint32_t i = 0, at = 0; i < job->n_roles; i++)
        for (uint32_t k = 0; k < job->roles[i].replicas; k++)
            placement->places[at++] = (struct task_place){ .role = i, .index = k, .attempt = 1 };
    for (size_t i = 0; i < placement->n_groups; i++)
        group_fill_units(placement, &placement->groups[i]);
}

/* ---- some tasks of a running job ---- */

/* Tasks of the role that a unit of the set has. */
static uint32_t tasks_in_unit(const struct job_spec *job, const struct words *set,
                              const struct role *role)
{
    uint32_t units = set_units(job, set);
    return units && role->replicas >= units ? role->replicas / units : 1;
}

/* Node of a peer that this task has to join. */
static uint32_t pinned(const struct placement *placement, const struct sched_more *more,
                       struct task_ref task)
{
    const struct job_spec *job = placement->job;
    struct role *own = &job->roles[task.role];
    const struct words set = together_with(job, own);
    if (!set.n)
        return UINT32_MAX;
    uint32_t unit = task.index / tasks_in_unit(job, &set, own);
    for (size_t i = 0; i < more->n_held; i++) {
        const struct task_place *p = &more->held[i];
        const struct role *r = &job->roles[p->role];
        if (words_have(&set, r->name) && p->index / tasks_in_unit(job, &set, r) == unit)
            return cluster_find(placement->cluster, p->node);
    }
    return UINT32_MAX;
}

static struct group *group_for(struct placement *placement, const struct task_request *w,
                               uint32_t pin)
{
    for (size_t i = 0; i < placement->n_groups; i++)
        if (placement->groups[i].members[0].want == w && placement->groups[i].pin == pin)
            return &placement->groups[i];
    struct group *g = &placement->groups[placement->n_groups++];
    g->name = w->role->name;
    g->members = ARENA_NEW(placement->arena, struct member);
    g->members[g->n_members++] = (struct member){ .want = w, .per = 1 };
    g->size = 1;
    g->pin = pin;
    return g;
}

/* Groups of one role count together which nodes have its tasks. */
static void count_held(const struct placement *placement, const struct sched_more *more,
                       struct group *g)
{
    for (struct group *other = placement->groups; g->on && other < g; other++)
        if (other->members[0].want == g->members[0].want) {
            g->on = other->on;
            return;
        }
    for (size_t i = 0; g->on && i < more->n_held; i++) {
        uint32_t node = cluster_find(placement->cluster, more->held[i].node);
        if (more->held[i].role == g->members[0].want->at && node != UINT32_MAX)
            g->on[node]++;
    }
}

void placement_init_more(struct placement *placement, struct arena *arena, struct cluster *cluster,
                         const struct sched_more *more)
{
    const struct task_request *wants = begin(placement, arena, cluster, more->spec);
    placement->some_only = placement->trickles = true;
    placement->n_places = (uint32_t)more->n;
    for (size_t i = 0; i < more->n_held && placement->anchor == POSITION_NONE; i++)
        placement->anchor = cluster_find(cluster, more->held[i].node);
    placement->groups = ARENA_ARRAY(arena, more->n, struct group);
    placement->places = ARENA_ARRAY(arena, more->n, struct task_place);
    placement->seats = ARENA_ARRAY(arena, more->n, struct placed_task);
    for (uint32_t i = 0; i < placement->n_places; i++) {
        struct task_ref t = more->tasks[i];
        uint32_t pin = pinned(placement, more, t);
        const struct role *role = &more->spec->roles[t.role];
        placement->trickles =
            placement->trickles && placement_least(more->spec, role) < role->replicas;
        placement->places[i] = (struct task_place){ .role = t.role, .index = t.index };
        struct group *g = group_for(placement, &wants[t.role], pin);
        if (!g->units) {
            g->tasks = ARENA_ARRAY(arena, more->n - i, struct group_task);
            group_finish(placement, g);
            count_held(placement, more, g);
        }
        g->tasks[g->units++] = (struct group_task){ .want = &wants[t.role], .place = i };
        g->least = g->units;
    }
    qsort(placement->groups, placement->n_groups, sizeof *placement->groups, by_hardness);
}
