/* Making groups of a job's tasks.
 *
 * Roles of a `together` set form units: with g the greatest common divisor of their replicas there
 * are g units, each with replicas/g tasks of every role. Where roles say per_group, a unit has that
 * many of them; a role with per_group is a set of its own. Every other role has units of one task.
 * Groups are ordered so that what fits in few places comes first: ports by number, then gpu, cpu,
 * memory. */
#include "sched/crew.h"

#include "base/err.h"

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
uint32_t crew_least(const struct job_spec *job, const struct role *r)
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

static void group_finish(struct crew *crew, struct group *g)
{
    g->order = (uint32_t)crew->n_groups;
    g->demands = demand_list(crew->arena, g->members, g->n_members, &g->n_demands);
    g->nothing = true;
    g->stamp = shelves_stamp(crew->cluster);
    sum_up(g);
    for (size_t i = 0; i < g->n_members; i++) {
        const struct want *w = g->members[i].want;
        g->nothing = g->nothing && want_is_nothing(w);
        g->has_static_ports = g->has_static_ports || w->has_static_ports;
        g->spread = g->spread || words_have(&crew->job->placing.spread, w->role->name);
        g->apart = g->apart || words_have(&crew->job->placing.apart, w->role->name);
        g->picky = g->picky || !want_is_of_kind(w, crew->cluster->layout->kinds);
    }
    for (size_t i = 0; i < g->n_demands; i++)
        g->picky = g->picky || (g->demands[i].type && crew->cluster->layout->kinds->mixed);
    g->picky = g->picky || g->apart || g->pin != SHELF_NONE;
    if (g->spread || g->apart)
        g->on = ARENA_ARRAY(crew->arena, cluster_count(crew->cluster), uint32_t);
}

static void group_of_role(struct crew *crew, const struct want *w)
{
    struct group *g = &crew->groups[crew->n_groups++];
    g->name = w->role->name;
    g->members = ARENA_NEW(crew->arena, struct member);
    g->members[g->n_members++] = (struct member){ .want = w, .per = 1 };
    g->size = 1;
    g->units = w->role->replicas;
    g->least = crew_least(crew->job, w->role);
    g->pin = UINT32_MAX;
    group_finish(crew, g);
}

static void group_of_set(struct crew *crew, const struct want *wants, const struct words *set)
{
    struct group *g = &crew->groups[crew->n_groups++];
    const struct job_spec *job = crew->job;
    g->members = ARENA_ARRAY(crew->arena, job->n_roles, struct member);
    g->pin = UINT32_MAX;
    g->units = set_units(job, set);
    if (!g->units)
        BUG("a set of roles without tasks");
    for (uint32_t i = 0; i < job->n_roles; i++) {
        if (!words_have(set, job->roles[i].name) || !job->roles[i].replicas)
            continue;
        g->members[g->n_members++] = (struct member){ .want = &wants[i] };
        g->name = g->name ? arena_printf(crew->arena, "%s+%s", g->name, job->roles[i].name)
                          : job->roles[i].name;
    }
    for (size_t m = 0; m < g->n_members; m++) {
        struct member *member = &g->members[m];
        member->per = member->want->role->replicas / g->units;
        g->size += member->per;
        uint32_t least = (crew_least(job, member->want->role) + member->per - 1) / member->per;
        g->least = least > g->least ? least : g->least;
    }
    group_finish(crew, g);
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

static void collect_avoided(struct crew *crew)
{
    size_t most = 0;
    for (size_t r = 0; r < crew->job->n_roles; r++)
        most += crew->job->roles[r].n_ports;
    crew->avoid = ARENA_ARRAY(crew->arena, most, struct port_range);
    for (size_t r = 0; r < crew->job->n_roles; r++)
        for (size_t i = 0; i < crew->job->roles[r].n_ports; i++) {
            const struct port_want *p = &crew->job->roles[r].ports[i];
            if (p->first && !p->prefer)
                crew->avoid[crew->n_avoid++] =
                    (struct port_range){ .first = p->first, .last = p->first + p->count - 1 };
        }
}

static int by_position(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void collect_named(struct crew *crew)
{
    const struct words *names = &crew->job->placing.nodes;
    uint32_t n = 0;
    if (!names->n)
        return;
    crew->named = ARENA_ARRAY(crew->arena, names->n, uint32_t);
    for (size_t i = 0; i < names->n; i++) {
        uint32_t node = cluster_find(crew->cluster, names->at[i]);
        if (node != UINT32_MAX)
            crew->named[n++] = node;
    }
    qsort(crew->named, n, sizeof *crew->named, by_position);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || crew->named[i] != crew->named[i - 1])
            crew->named[crew->n_named++] = crew->named[i];
}

void crew_within(struct crew *crew, const struct level *level, uint32_t domain)
{
    crew->level = level;
    crew->domain = domain;
    crew->among = crew->named;
    crew->n_among = crew->n_named;
    if (!level)
        return;
    const struct domain *d = &level->domains[domain];
    crew->among = &level->nodes[d->at];
    crew->n_among = d->n;
    if (!crew->named)
        return;
    uint32_t *both = ARENA_ARRAY(crew->arena, crew->n_named, uint32_t), n = 0;
    for (uint32_t i = 0; i < crew->n_named; i++)
        if (level->of[crew->named[i]] == domain)
            both[n++] = crew->named[i];
    crew->among = both;
    crew->n_among = n;
}

static struct want *begin(struct crew *crew, struct arena *arena, struct cluster *cluster,
                          const struct job_spec *job)
{
    *crew = (struct crew){ .arena = arena, .cluster = cluster, .job = job };
    struct want *wants = ARENA_ARRAY(arena, job->n_roles, struct want);
    for (uint32_t i = 0; i < job->n_roles; i++)
        want_init(&wants[i], job, i);
    collect_avoided(crew);
    collect_named(crew);
    crew->anchor = SHELF_NONE;
    crew_within(crew, NULL, DOMAIN_NONE);
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

void crew_init(struct crew *crew, struct arena *arena, struct cluster *cluster,
               const struct job_spec *job)
{
    const struct want *wants = begin(crew, arena, cluster, job);
    crew->groups = ARENA_ARRAY(arena, job->n_roles, struct group);
    for (uint32_t i = 0; i < job->n_roles; i++) {
        const struct words set = together_with(job, &job->roles[i]);
        crew->n_places += job->roles[i].replicas;
        if (!job->roles[i].replicas)
            continue;
        if (!set.n)
            group_of_role(crew, &wants[i]);
        else if (leads(job, i, &set))
            group_of_set(crew, wants, &set);
    }
    for (size_t i = 0; i < crew->n_groups; i++)
        crew->elastic = crew->elastic || crew->groups[i].least < crew->groups[i].units;
    qsort(crew->groups, crew->n_groups, sizeof *crew->groups, by_hardness);
}

static uint32_t role_first_place(const struct job_spec *job, uint32_t role)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < role; i++)
        first += job->roles[i].replicas;
    return first;
}

static void group_fill_units(struct crew *crew, struct group *g)
{
    g->tasks = ARENA_ARRAY(crew->arena, (size_t)g->units * g->size, struct crew_task);
    for (uint32_t unit = 0, at = 0; unit < g->units; unit++)
        for (size_t m = 0; m < g->n_members; m++) {
            const struct member *member = &g->members[m];
            uint32_t first = role_first_place(crew->job, member->want->at) + unit * member->per;
            for (uint32_t k = 0; k < member->per; k++)
                g->tasks[at++] = (struct crew_task){ .want = member->want, .place = first + k };
        }
}

void crew_seat(struct crew *crew)
{
    const struct job_spec *job = crew->job;
    if (crew->seats)
        return;
    crew->places = ARENA_ARRAY(crew->arena, crew->n_places, struct task_place);
    crew->seats = ARENA_ARRAY(crew->arena, crew->n_places, struct seat);
    for (uint32_t i = 0, at = 0; i < job->n_roles; i++)
        for (uint32_t k = 0; k < job->roles[i].replicas; k++)
            crew->places[at++] = (struct task_place){ .role = i, .index = k, .attempt = 1 };
    for (size_t i = 0; i < crew->n_groups; i++)
        group_fill_units(crew, &crew->groups[i]);
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
static uint32_t pinned(const struct crew *crew, const struct sched_more *more, struct task_ref task)
{
    const struct job_spec *job = crew->job;
    struct role *own = &job->roles[task.role];
    const struct words set = together_with(job, own);
    if (!set.n)
        return UINT32_MAX;
    uint32_t unit = task.index / tasks_in_unit(job, &set, own);
    for (size_t i = 0; i < more->n_held; i++) {
        const struct task_place *p = &more->held[i];
        const struct role *r = &job->roles[p->role];
        if (words_have(&set, r->name) && p->index / tasks_in_unit(job, &set, r) == unit)
            return cluster_find(crew->cluster, p->node);
    }
    return UINT32_MAX;
}

static struct group *group_for(struct crew *crew, const struct want *w, uint32_t pin)
{
    for (size_t i = 0; i < crew->n_groups; i++)
        if (crew->groups[i].members[0].want == w && crew->groups[i].pin == pin)
            return &crew->groups[i];
    struct group *g = &crew->groups[crew->n_groups++];
    g->name = w->role->name;
    g->members = ARENA_NEW(crew->arena, struct member);
    g->members[g->n_members++] = (struct member){ .want = w, .per = 1 };
    g->size = 1;
    g->pin = pin;
    return g;
}

/* Groups of one role count together which nodes have its tasks. */
static void count_held(const struct crew *crew, const struct sched_more *more, struct group *g)
{
    for (struct group *other = crew->groups; g->on && other < g; other++)
        if (other->members[0].want == g->members[0].want) {
            g->on = other->on;
            return;
        }
    for (size_t i = 0; g->on && i < more->n_held; i++) {
        uint32_t node = cluster_find(crew->cluster, more->held[i].node);
        if (more->held[i].role == g->members[0].want->at && node != UINT32_MAX)
            g->on[node]++;
    }
}

void crew_init_more(struct crew *crew, struct arena *arena, struct cluster *cluster,
                    const struct sched_more *more)
{
    const struct want *wants = begin(crew, arena, cluster, more->spec);
    crew->some_only = crew->trickles = true;
    crew->n_places = (uint32_t)more->n;
    for (size_t i = 0; i < more->n_held && crew->anchor == SHELF_NONE; i++)
        crew->anchor = cluster_find(cluster, more->held[i].node);
    crew->groups = ARENA_ARRAY(arena, more->n, struct group);
    crew->places = ARENA_ARRAY(arena, more->n, struct task_place);
    crew->seats = ARENA_ARRAY(arena, more->n, struct seat);
    for (uint32_t i = 0; i < crew->n_places; i++) {
        struct task_ref t = more->tasks[i];
        uint32_t pin = pinned(crew, more, t);
        const struct role *role = &more->spec->roles[t.role];
        crew->trickles = crew->trickles && crew_least(more->spec, role) < role->replicas;
        crew->places[i] = (struct task_place){ .role = t.role, .index = t.index };
        struct group *g = group_for(crew, &wants[t.role], pin);
        if (!g->units) {
            g->tasks = ARENA_ARRAY(arena, more->n - i, struct crew_task);
            group_finish(crew, g);
            count_held(crew, more, g);
        }
        g->tasks[g->units++] = (struct crew_task){ .want = &wants[t.role], .place = i };
        g->least = g->units;
    }
    qsort(crew->groups, crew->n_groups, sizeof *crew->groups, by_hardness);
}
