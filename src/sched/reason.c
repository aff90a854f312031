/* What is short is found in shortage.c; here it becomes a wait_reason: names and numbers.
 *
 * Order of the look: counting (certain and cheap); then the group that gets stuck when the others
 * have their places; and whether nodes that are lost or drained would help. */
#include "sched/reason.h"

#include "base/buf.h"
#include "sched/classify.h"
#include "sched/domains.h"
#include "sched/fit.h"
#include "sched/shortage.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX  512u
#define TYPES_MAX 8u /* that are named */

static char *buf_to_arena(struct arena *arena, const struct buf *text)
{
    return arena_strndup(arena, buf_str(text), text->len);
}

static const char *node_name(const struct placement *placement, uint32_t node)
{
    if (node == UINT32_MAX)
        return "";
    return arena_strdup(placement->arena, cluster_form(placement->cluster, node)->spec.name);
}

/* What has to come free at the least: what the cluster lacks in all, or what one unit lacks where
 * most is left. */
static uint64_t missing(const struct shortage *s)
{
    if (s->demand->kind == DEMAND_PORT)
        return s->needed - s->fits;
    uint64_t in_all = less(times(s->demand->need, s->needed), s->free);
    uint64_t for_one = less(s->demand->need, s->best);
    return in_all > for_one ? in_all : for_one;
}

/* ---- what no room can cure ---- */

static bool some_node_has(const struct placement *placement, const struct pair *label)
{
    for (uint32_t i = 0; i < cluster_count(placement->cluster); i++) {
        const char *has = pairs_get(&cluster_form(placement->cluster, i)->spec.labels, label->name);
        if (has && strcmp(has, label->value) == 0)
            return true;
    }
    return false;
}

static const char *joined(struct arena *arena, const struct words *w)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < w->n; i++)
        buf_addf(&text, "%s%s", i ? " or " : "", w->at[i]);
    return buf_to_arena(arena, &text);
}

/* "A100, T4" */
static const char *types_there(const struct placement *placement)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    const char *seen[TYPES_MAX];
    size_t n = 0;
    for (uint32_t i = 0; i < cluster_count(placement->cluster) && n < TYPES_MAX; i++) {
        const struct node_spec *spec = &cluster_form(placement->cluster, i)->spec;
        size_t k = 0;
        while (k < n && strcmp(seen[k], spec->gpu_type) != 0)
            k++;
        if (!spec->gpus || !*spec->gpu_type || k < n)
            continue;
        seen[n++] = spec->gpu_type;
        buf_addf(&text, "%s%s", n > 1 ? ", " : "", spec->gpu_type);
    }
    return buf_to_arena(placement->arena, &text);
}

static const char *group_name(const struct placement *placement, const struct group *g)
{
    return g ? arena_strdup(placement->arena, g->name) : "";
}

/* What was asked for, and what that is: "gpu type A100 or T4". */
static void ask(const struct placement *placement, struct wait_reason *r, enum wait_says says,
                const char *kind, const char *asked)
{
    r->says = says;
    r->asked = asked;
    r->resource = arena_printf(placement->arena, "%s %s", kind, asked);
}

static void ask_type(const struct placement *placement, const struct group *g,
                     struct wait_reason *r)
{
    const struct placing *placing = &placement->job->placing;
    const struct role *role = g->members[0].want->role;
    for (size_t i = 1; i < g->n_members; i++)
        if (!role->resources.gpu_types.n)
            role = g->members[i].want->role;
    ask(placement, r, SAYS_NO_TYPE, "gpu type",
        joined(placement->arena, &role->resources.gpu_types));
    r->narrowed = placing->labels.n || placing->nodes.n || placing->avoid.n;
    r->there = types_there(placement);
}

/* The label that no node has; when each is somewhere, the last one asked for. */
static void ask_label(const struct placement *placement, struct wait_reason *r)
{
    const struct placing *placing = &placement->job->placing;
    size_t i = 0;
    while (i + 1 < placing->labels.n && some_node_has(placement, &placing->labels.at[i]))
        i++;
    const struct pair *label = &placing->labels.at[i];
    ask(placement, r, some_node_has(placement, label) ? SAYS_NO_LABELS : SAYS_NO_LABEL, "label",
        arena_printf(placement->arena, "%s=%s", label->name, label->value));
    r->narrowed = placing->nodes.n > 0;
}

/* Nodes of allocations: the one that has most time left. */
static void ask_time(const struct placement *placement, struct wait_reason *r)
{
    uint32_t node = 0;
    r->left_ms = 0;
    for (uint32_t i = 0; i < cluster_count(placement->cluster); i++) {
        const uint64_t lasts = cluster_form(placement->cluster, i)->spec.lasts_ms;
        if (lasts <= r->left_ms)
            continue;
        r->left_ms = lasts;
        node = i;
    }
    r->resource = "time";
    r->says = SAYS_NODES_END;
    if (r->left_ms <= NODE_ENDS || !placement->job->limits.run_time_ms.has)
        return;
    r->says = SAYS_NODES_END_EARLY;
    r->limit_ms = placement->job->limits.run_time_ms.value;
    r->node = node_name(placement, node);
}

static struct wait_reason misfit_reason(const struct placement *placement, const struct shortage *s)
{
    const struct placing *placing = &placement->job->placing;
    struct wait_reason r = { .why = WAIT_LABELS,
                             .role = group_name(placement, s->group),
                             .node = "" };
    switch (s->misfit) {
    case NODE_REFUSAL_TYPE: ask_type(placement, s->group, &r); break;
    case NODE_REFUSAL_LABEL: ask_label(placement, &r); break;
    case NODE_REFUSAL_PRICE:
        r.resource = "price";
        r.says = SAYS_NO_PRICE;
        break;
    case NODE_REFUSAL_OWNER:
        r.resource = "node";
        r.says = placing->own ? SAYS_NO_NODE_OF_OWN : SAYS_NODES_OF_OTHERS;
        break;
    case NODE_REFUSAL_ENGINE:
        ask(placement, &r, SAYS_NO_ENGINE, "engine",
            arena_strdup(placement->arena, placing->engine));
        break;
    case NODE_REFUSAL_TIME: ask_time(placement, &r); break;
    default:
        ask(placement, &r, SAYS_NO_NAME, "node", joined(placement->arena, &placing->nodes));
        break;
    }
    return r;
}

/* ---- too little ---- */

static enum wait_says says_now(const struct shortage *s)
{
    if (s->kind == SHORTAGE_NODES)
        return SAYS_SHORT_NODES;
    if (s->demand->kind == DEMAND_PORT)
        return SAYS_SHORT_PORT;
    return s->kind == SHORTAGE_TOTAL ? SAYS_SHORT_TOGETHER : SAYS_SHORT;
}

static enum wait_says says_ever(const struct shortage *s)
{
    const struct demand *d = s->demand;
    if (s->kind == SHORTAGE_NODES)
        return SAYS_NEVER_NODES;
    if (s->kind == SHORTAGE_TOTAL)
        return SAYS_NEVER_TOGETHER;
    if (d->kind == DEMAND_PORT)
        return SAYS_NEVER_PORT;
    if (s->kind == SHORTAGE_DEMAND && s->fits == 0)
        return SAYS_NEVER_ON_ONE;
    if (s->kind == SHORTAGE_DEMAND && times(d->need, s->needed) > s->free)
        return SAYS_NEVER_IN_ALL;
    return s->kind == SHORTAGE_MIX ? SAYS_NEVER_MIX : SAYS_NEVER_UNITS;
}

static enum amount_kind amounts_of(const struct demand *d)
{
    switch (d->kind) {
    case DEMAND_MEMORY:
    case DEMAND_DISK: return AMOUNT_BYTES;
    case DEMAND_PORTS:
    case DEMAND_PORT: return AMOUNT_COUNT;
    default: return AMOUNT_MILLI;
    }
}

/* ---- both ---- */

static uint64_t asked_in_all(const struct placement *placement, const struct demand *d)
{
    uint64_t total = 0;
    for (size_t i = 0; i < placement->n_groups; i++)
        for (size_t k = 0; k < placement->groups[i].n_demands; k++) {
            const struct demand *own = &placement->groups[i].demands[k];
            if (strcmp(own->name, d->name) == 0 &&
                __builtin_add_overflow(total, times(own->need, placement->groups[i].least), &total))
                return UINT64_MAX;
        }
    return total;
}

static struct wait_reason structured(const struct placement *placement, const struct shortage *s,
                                     enum wait_says says)
{
    const struct demand *d = s->demand;
    struct wait_reason r = { .why = WAIT_RESOURCE,
                             .says = says,
                             .fits = s->fits,
                             .needed = s->needed,
                             .role = group_name(placement, s->group) };
    r.node = r.closest = node_name(placement, s->node);
    r.units = s->group && s->group->size != 1;
    if (!d) {
        r.resource = "node";
        r.need = 1;
        r.short_by = s->needed - s->fits;
        r.total = s->needed;
        return r;
    }
    if (d->kind == DEMAND_PORT)
        r.why = WAIT_PORTS;
    r.resource = arena_strdup(placement->arena, d->name);
    r.amounts = amounts_of(d);
    r.one_device = d->kind == DEMAND_SHARE && d->one_device;
    r.types = d->type ? joined(placement->arena, &d->type->role->resources.gpu_types) : NULL;
    r.short_roles = s->short_roles;
    r.free = says == SAYS_NEVER_ON_ONE ? s->largest : s->free;
    r.need = d->need;
    r.best = s->best;
    r.short_by = missing(s);
    r.total = asked_in_all(placement, d);
    return r;
}

/* Nothing is short by counting: put what fits, and see what the first group without a place lacks
 * beside it. */
static bool stuck_shortage(struct placement *placement, struct shortage *s)
{
    struct group *g = gang_stuck(placement);
    bool found = false;
    if (g) {
        uint32_t needed = g->least > g->done ? g->least - g->done : 1;
        found = shortage_of_group(placement, g, needed, s);
    }
    fit_back(placement, 0);
    return found;
}

static struct wait_reason nowhere(const struct placement *placement, enum wait_says says)
{
    return (struct wait_reason){ .why = WAIT_RESOURCE,
                                 .says = says,
                                 .resource = "node",
                                 .need = 1,
                                 .short_by = 1,
                                 .node = "",
                                 .role = group_name(
                                     placement, placement->n_groups ? placement->groups : NULL) };
}

/* ---- topology ---- */

/* The first group that no domain holds by itself, in the domain that comes closest. */
static const struct group *outside(struct placement *placement, uint32_t level, uint32_t *domain)
{
    for (size_t i = 0; i < placement->n_groups; i++) {
        uint32_t units;
        *domain = domain_closest(placement, &placement->groups[i], level, &units);
        if (units < placement->groups[i].least)
            return &placement->groups[i];
    }
    return NULL;
}

static struct wait_reason topology_reason(struct placement *placement, uint32_t at, bool ever)
{
    struct wait_reason r = { .why = WAIT_TOPOLOGY, .resource = "node", .need = 1, .short_by = 1 };
    struct shortage s = { .demand = NULL };
    uint32_t domain = DOMAIN_NONE;
    r.node = r.role = r.domain = "";
    r.level = arena_strdup(placement->arena, placement->job->placing.within);
    if (at == DOMAIN_NONE) {
        r.says = SAYS_NO_LEVEL;
        return r;
    }
    const struct level *level = &cluster_topology(placement->cluster)->levels[at];
    const struct group *g = outside(placement, at, &domain);
    r.role = group_name(placement, g);
    if (domain == DOMAIN_NONE) {
        r.says = SAYS_NO_DOMAIN;
        return r;
    }
    r.domain = arena_strdup(placement->arena, level->domains[domain].name);
    placement_in_domain(placement, level, domain);
    if (!g || !shortage_of_group(placement, g, g->least, &s)) {
        r.says = SAYS_DOMAIN_TOGETHER;
    } else if (!s.demand) {
        r.need = s.needed;
        r.best = s.fits;
        r.says = SAYS_DOMAIN_NODES;
    } else {
        r.resource = arena_strdup(placement->arena, s.demand->name);
        r.need = r.total = times(s.demand->need, s.needed);
        r.best = s.free;
        r.short_by = r.need > r.best ? r.need - r.best : missing(&s);
        r.node = node_name(placement, s.node);
        r.says = ever ? SAYS_DOMAIN_NEVER : SAYS_DOMAIN_SHORT;
        r.amounts = amounts_of(s.demand);
        r.pieces = r.best >= r.need;
        r.units = s.group->size != 1;
    }
    r.fits = s.fits;
    r.needed = s.needed;
    placement_in_domain(placement, NULL, DOMAIN_NONE);
    return r;
}

static struct wait_reason reason_of(struct placement *placement, enum gang_answer answer, bool ever)
{
    struct shortage s;
    uint32_t level;
    if (shortage_find(placement, &s)) {
        if (s.kind == SHORTAGE_MISFIT)
            return misfit_reason(placement, &s);
        return structured(placement, &s, ever ? says_ever(&s) : says_now(&s));
    }
    if (domain_required(placement, &level))
        return topology_reason(placement, level, ever);
    if (!stuck_shortage(placement, &s) || s.kind == SHORTAGE_MISFIT)
        return nowhere(placement, SAYS_NO_ARRANGEMENT);
    /* What the others leave is not what the cluster has. */
    struct wait_reason r = structured(placement, &s, says_now(&s));
    r.beside = true;
    r.not_found = answer == GANG_NOT_FOUND;
    return r;
}

static uint32_t first_unusable(const struct cluster *c, uint32_t *n)
{
    const struct node_classes *s = node_classes_of(c);
    uint32_t first = UINT32_MAX;
    *n = 0;
    for (uint32_t i = node_classes_next(s, POSITION_NONE, 0); i != POSITION_NONE;
         i = node_classes_next(s, i, 0)) {
        const struct node_class *class = &s->at[i];
        if (class->usable)
            continue;
        first = class->first < first ? class->first : first;
        *n += class->n;
    }
    return first;
}

/* On a copy where every node is back. */
static bool fits_when_back(const struct placement *placement, uint32_t *steps)
{
    struct cluster *back = cluster_clone(placement->cluster);
    struct arena *arena = arena_create();
    struct placement again;
    cluster_revive(back);
    placement_init(&again, arena, back, placement->job);
    again.steps = steps;
    bool fits = gang_place(&again) == GANG_PLACED;
    arena_destroy(arena);
    cluster_destroy(back);
    return fits;
}

static void add_nodes_back(const struct placement *placement, struct wait_reason *r, uint32_t first,
                           uint32_t n)
{
    r->why = WAIT_NODES_DOWN;
    r->node = r->back = node_name(placement, first);
    r->back_up = placement->cluster->nodes[first].up;
    r->n_back = n;
}

/* Are there nodes where less time is left than the job's limit? */
static bool any_too_short(const struct placement *placement)
{
    const struct cluster *c = placement->cluster;
    if (!placement->job->limits.run_time_ms.has)
        return false;
    for (uint32_t i = 0; i < cluster_count(c); i++) {
        const uint64_t lasts = cluster_form(c, i)->spec.lasts_ms;
        if (lasts > NODE_ENDS && lasts < placement->job->limits.run_time_ms.value && c->nodes[i].up)
            return true;
    }
    return false;
}

static bool fits_in_less_time(const struct placement *placement, uint32_t *steps)
{
    struct cluster *copy = cluster_clone(placement->cluster);
    struct arena *arena = arena_create();
    struct job_spec brief = *placement->job;
    struct placement again;
    brief.limits.run_time_ms.has = false;
    placement_init(&again, arena, copy, &brief);
    again.steps = steps;
    bool fits = gang_place(&again) == GANG_PLACED;
    arena_destroy(arena);
    cluster_destroy(copy);
    return fits;
}

struct wait_reason reason_now(struct placement *placement, enum gang_answer answer)
{
    uint32_t n, first = first_unusable(placement->cluster, &n);
    struct wait_reason r = reason_of(placement, answer, false);
    if (!placement->some_only && any_too_short(placement) &&
        fits_in_less_time(placement, placement->steps)) {
        r = (struct wait_reason){ .why = WAIT_LABELS, .role = r.role, .node = "" };
        ask_time(placement, &r);
        return r;
    }
    if (n && !placement->some_only && r.why != WAIT_LABELS &&
        fits_when_back(placement, placement->steps))
        add_nodes_back(placement, &r, first, n);
    return r;
}

struct wait_reason reason_ever(struct placement *placement, enum gang_answer answer)
{
    if (cluster_count(placement->cluster) == 0)
        return nowhere(placement, SAYS_NO_CLUSTER);
    return reason_of(placement, answer, true);
}

struct wait_reason reason_plain(enum wait_why why)
{
    static const enum wait_says says[] = { [WAIT_AHEAD] = SAYS_AHEAD,
                                           [WAIT_TIME] = SAYS_BACK_OFF,
                                           [WAIT_AFTER] = SAYS_AFTER,
                                           [WAIT_RESERVED] = SAYS_PROMISED };
    return (struct wait_reason){
        .why = why, .says = says[why], .resource = "", .node = "", .role = ""
    };
}

/* ---- shares ---- */

static uint64_t part_of(const struct vector *v, const char *resource)
{
    if (strcmp(resource, "memory") == 0)
        return v->memory;
    return strcmp(resource, "gpu") == 0 ? v->gpu_milli : v->cpu_milli;
}

struct wait_reason reason_quota(const struct quota_check *look, const struct queue_spec *queue,
                                const struct vector *demand)
{
    bool user = look->answer == QUOTA_USER;
    uint64_t need = part_of(demand, look->resource);
    return (struct wait_reason){ .why = user ? WAIT_USER : WAIT_QUOTA,
                                 .says = user ? SAYS_USER_QUOTA : SAYS_QUOTA,
                                 .resource = look->resource,
                                 .amounts = strcmp(look->resource, "memory") == 0 ? AMOUNT_BYTES
                                                                                  : AMOUNT_MILLI,
                                 .need = need,
                                 .best = less(look->most, look->used),
                                 .total = look->most,
                                 .used = look->used,
                                 .short_by = less(need, less(look->most, look->used)),
                                 .queue = look->queue,
                                 .queue_name = queue->name,
                                 .node = "",
                                 .role = "" };
}
