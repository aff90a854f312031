/* Wording. What is short is found in shortage.c; here it becomes a wait_reason.
 *
 * Order of the look: counting (certain and cheap); then the group that gets stuck when the others
 * have their places; and whether nodes that are lost or drained would help. */
#include "sched/reason.h"

#include "base/scan.h"

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

static void add_amount(struct buf *out, const struct demand *d, uint64_t amount)
{
    demand_amount(d, amount, out);
}

/* "4 gpu", "16Gi memory" */
static void add_named(struct buf *out, const struct demand *d, uint64_t amount)
{
    add_amount(out, d, amount);
    buf_addf(out, " %s", d->name);
}

static const char *unit_word(const struct group *g)
{
    return g->size == 1 ? "task" : "unit";
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

/* "; there are A100, T4" */
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
        buf_addf(&text, "%s%s", n > 1 ? ", " : "; there are ", spec->gpu_type);
    }
    return n ? buf_to_arena(placement->arena, &text) : "; no node says the type of its devices";
}

static const char *group_name(const struct placement *placement, const struct group *g)
{
    return g ? arena_strdup(placement->arena, g->name) : "";
}

static void word_type(const struct placement *placement, const struct group *g,
                      struct wait_reason *r)
{
    const struct placing *placing = &placement->job->placing;
    const struct role *role = g->members[0].want->role;
    for (size_t i = 1; i < g->n_members; i++)
        if (!role->resources.gpu_types.n)
            role = g->members[i].want->role;
    const char *types = joined(placement->arena, &role->resources.gpu_types);
    bool others = placing->labels.n || placing->nodes.n || placing->avoid.n;
    r->resource = arena_printf(placement->arena, "gpu type %s", types);
    r->text = arena_printf(placement->arena, "no node %shas gpu type %s%s",
                           others ? "with the labels and names asked for " : "", types,
                           types_there(placement));
}

/* The label that no node has; when each is somewhere, the last one asked for. */
static void word_label(const struct placement *placement, struct wait_reason *r)
{
    const struct placing *placing = &placement->job->placing;
    size_t i = 0;
    while (i + 1 < placing->labels.n && some_node_has(placement, &placing->labels.at[i]))
        i++;
    const struct pair *label = &placing->labels.at[i];
    r->resource = arena_printf(placement->arena, "label %s=%s", label->name, label->value);
    if (!some_node_has(placement, label))
        r->text = arena_printf(placement->arena, "no node has the label %s=%s", label->name,
                               label->value);
    else
        r->text = placing->nodes.n ? "no node that is named has all labels asked for"
                                   : "no node has all labels asked for";
}

/* Nodes of allocations: the one that has most time left. */
static void word_time(const struct placement *placement, struct wait_reason *r)
{
    char limit[FMT_MAX], left[FMT_MAX];
    uint64_t most = 0;
    uint32_t node = 0;
    for (uint32_t i = 0; i < cluster_count(placement->cluster); i++) {
        const uint64_t lasts = cluster_form(placement->cluster, i)->spec.lasts_ms;
        if (lasts <= most)
            continue;
        most = lasts;
        node = i;
    }
    r->resource = "time";
    if (most <= NODE_ENDS || !placement->job->limits.run_time_ms.has) {
        r->text = "the allocations of the nodes it could use are about to end";
        return;
    }
    r->node = node_name(placement, node);
    r->text = arena_printf(placement->arena,
                           "its limit of %s is longer than any node it could use has left; %s has "
                           "%s",
                           fmt_duration(limit, placement->job->limits.run_time_ms.value), r->node,
                           fmt_duration(left, most));
}

static struct wait_reason misfit_reason(const struct placement *placement, const struct shortage *s)
{
    struct wait_reason r = { .why = WAIT_LABELS,
                             .role = group_name(placement, s->group),
                             .node = "" };
    if (s->misfit == NODE_REFUSAL_TYPE) {
        word_type(placement, s->group, &r);
    } else if (s->misfit == NODE_REFUSAL_LABEL) {
        word_label(placement, &r);
    } else if (s->misfit == NODE_REFUSAL_PRICE) {
        r.resource = "price";
        r.text = "no node it could use costs as little as it bids";
    } else if (s->misfit == NODE_REFUSAL_OWNER) {
        r.resource = "node";
        r.text = placement->job->placing.own
                     ? "its own allocation has no node"
                     : "all nodes are of allocations that other jobs have for themselves";
    } else if (s->misfit == NODE_REFUSAL_ENGINE) {
        r.resource = arena_printf(placement->arena, "engine %s", placement->job->placing.engine);
        r.text = arena_printf(placement->arena, "no node is of the engine %s",
                              placement->job->placing.engine);
    } else if (s->misfit == NODE_REFUSAL_TIME) {
        word_time(placement, &r);
    } else {
        const char *names = joined(placement->arena, &placement->job->placing.nodes);
        r.resource = arena_printf(placement->arena, "node %s", names);
        r.text = arena_printf(placement->arena, "no node is named %s", names);
    }
    return r;
}

/* ---- now ---- */

static void word_closest(const struct placement *placement, const struct shortage *s,
                         struct buf *out)
{
    if (s->node == UINT32_MAX) {
        buf_puts(out, "; no node is up");
        return;
    }
    buf_addf(out, "; %s comes closest with ", node_name(placement, s->node));
    add_amount(out, s->demand, s->best);
    buf_puts(out, " of ");
    add_amount(out, s->demand, s->demand->need);
    buf_puts(out, s->demand->kind == DEMAND_SHARE && s->demand->one_device ? " free on one device"
                                                                           : " free");
}

static void word_now(const struct placement *placement, const struct shortage *s, struct buf *out)
{
    const char *who = s->group ? s->group->name : "";
    if (s->kind == SHORTAGE_NODES) {
        buf_addf(out, "node: %u of the %u nodes that %s needs %s room", s->fits, s->needed, who,
                 s->fits == 1 ? "has" : "have");
        return;
    }
    if (s->demand->kind == DEMAND_PORT) {
        buf_addf(out, "%s: free on %u of the %u hosts that %s needs", s->demand->name, s->fits,
                 s->needed, who);
        return;
    }
    buf_puts(out, s->demand->name);
    if (s->demand->type)
        buf_addf(out, " of type %s",
                 joined(placement->arena, &s->demand->type->role->resources.gpu_types));
    buf_puts(out, ": ");
    add_amount(out, s->demand, missing(s));
    buf_puts(out, " short");
    if (s->kind == SHORTAGE_TOTAL) {
        buf_addf(out, "; %u roles need ", s->short_roles);
        add_amount(out, s->demand, s->demand->need);
        buf_puts(out, " together, ");
        add_amount(out, s->demand, s->free);
        buf_puts(out, " are free");
        return;
    }
    if (s->fits)
        buf_addf(out, ", %u of %u %s %ss fit", s->fits, s->needed, who, unit_word(s->group));
    word_closest(placement, s, out);
}

/* ---- ever ---- */

static void word_ever(const struct placement *placement, const struct shortage *s, struct buf *out)
{
    const struct demand *d = s->demand;
    if (s->kind == SHORTAGE_NODES) {
        buf_addf(out, "%s needs %u nodes for itself, the cluster has %u", s->group->name, s->needed,
                 s->fits);
    } else if (s->kind == SHORTAGE_TOTAL) {
        buf_addf(out, "%u roles need ", s->short_roles);
        add_named(out, d, d->need);
        buf_puts(out, " together, the cluster has ");
        add_amount(out, d, s->free);
    } else if (d->kind == DEMAND_PORT) {
        buf_addf(out, "%s wants %s on %u hosts, the cluster has %u", s->group->name, d->name,
                 s->needed, s->fits);
    } else if (s->kind == SHORTAGE_DEMAND && s->fits == 0) {
        buf_addf(out, "%s asks ", s->group->name);
        add_named(out, d, d->need);
        buf_addf(out, " a %s, the largest node has ", unit_word(s->group));
        add_amount(out, d, s->largest);
    } else if (s->kind == SHORTAGE_DEMAND && times(d->need, s->needed) > s->free) {
        buf_addf(out, "%s needs ", s->group->name);
        add_named(out, d, times(d->need, s->needed));
        buf_puts(out, ", the cluster has ");
        add_amount(out, d, s->free);
    } else {
        buf_addf(out, "%s asks ", s->group->name);
        add_named(out, d, d->need);
        buf_addf(out, " a %s, the cluster has room for %u of %u", unit_word(s->group), s->fits,
                 s->needed);
        if (s->kind == SHORTAGE_MIX) {
            buf_addf(out, " with all else it asks; %s comes closest with ",
                     node_name(placement, s->node));
            add_amount(out, d, s->best);
        }
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

static struct wait_reason structured(const struct placement *placement, const struct shortage *s)
{
    struct wait_reason r = { .why = WAIT_RESOURCE, .role = group_name(placement, s->group) };
    r.node = node_name(placement, s->node);
    if (!s->demand) {
        r.resource = "node";
        r.need = 1;
        r.short_by = s->needed - s->fits;
        r.total = s->needed;
        return r;
    }
    if (s->demand->kind == DEMAND_PORT)
        r.why = WAIT_PORTS;
    r.resource = arena_strdup(placement->arena, s->demand->name);
    r.need = s->demand->need;
    r.best = s->best;
    r.short_by = missing(s);
    r.total = asked_in_all(placement, s->demand);
    return r;
}

typedef void word_fn(const struct placement *, const struct shortage *, struct buf *);

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

static struct wait_reason nowhere(const struct placement *placement, const char *text)
{
    return (struct wait_reason){ .why = WAIT_RESOURCE,
                                 .resource = "node",
                                 .need = 1,
                                 .short_by = 1,
                                 .node = "",
                                 .role = group_name(placement,
                                                    placement->n_groups ? placement->groups : NULL),
                                 .text = text };
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

/* "16 gpu in one rack; rack r3 comes closest with 12 free" */
static void word_domain(const struct placement *placement, const struct shortage *s, bool ever,
                        struct wait_reason *r)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    add_named(&text, s->demand, r->need);
    buf_addf(&text, " in one %s; %s %s %s with ", r->level, r->level, r->domain,
             ever ? "is the largest" : "comes closest");
    add_amount(&text, s->demand, r->best);
    if (!ever)
        buf_puts(&text, " free");
    if (r->best >= r->need)
        buf_addf(&text, ", in pieces: %u of %u %s %ss fit", s->fits, s->needed, s->group->name,
                 unit_word(s->group));
    r->text = buf_to_arena(placement->arena, &text);
}

static struct wait_reason topology_reason(struct placement *placement, uint32_t at, bool ever)
{
    struct wait_reason r = { .why = WAIT_TOPOLOGY, .resource = "node", .need = 1, .short_by = 1 };
    struct shortage s = { .demand = NULL };
    uint32_t domain = DOMAIN_NONE;
    r.node = r.role = r.domain = "";
    r.level = arena_strdup(placement->arena, placement->job->placing.within);
    if (at == DOMAIN_NONE) {
        r.text = arena_printf(placement->arena, "the cluster has no topology level %s", r.level);
        return r;
    }
    const struct level *level = &cluster_topology(placement->cluster)->levels[at];
    const struct group *g = outside(placement, at, &domain);
    r.role = group_name(placement, g);
    if (domain == DOMAIN_NONE) {
        r.text = arena_printf(placement->arena, "no node has the label %s", r.level);
        return r;
    }
    r.domain = arena_strdup(placement->arena, level->domains[domain].name);
    placement_in_domain(placement, level, domain);
    if (!g || !shortage_of_group(placement, g, g->least, &s)) {
        r.text = arena_printf(placement->arena, "no %s has room for all tasks together", r.level);
    } else if (!s.demand) {
        r.need = s.needed;
        r.best = s.fits;
        r.text = arena_printf(placement->arena, "%u nodes in one %s that %s can use; %s %s has %u",
                              s.needed, r.level, g->name, r.level, r.domain, s.fits);
    } else {
        r.resource = arena_strdup(placement->arena, s.demand->name);
        r.need = r.total = times(s.demand->need, s.needed);
        r.best = s.free;
        r.short_by = r.need > r.best ? r.need - r.best : missing(&s);
        r.node = node_name(placement, s.node);
        word_domain(placement, &s, ever, &r);
    }
    placement_in_domain(placement, NULL, DOMAIN_NONE);
    return r;
}

static struct wait_reason reason_of(struct placement *placement, enum gang_answer answer,
                                    word_fn *word)
{
    struct shortage s;
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct wait_reason r;
    uint32_t level;
    if (shortage_find(placement, &s)) {
        if (s.kind == SHORTAGE_MISFIT)
            return misfit_reason(placement, &s);
        r = structured(placement, &s);
    } else if (domain_required(placement, &level)) {
        return topology_reason(placement, level, word == word_ever);
    } else if (stuck_shortage(placement, &s) && s.kind != SHORTAGE_MISFIT) {
        r = structured(placement, &s);
        if (answer == GANG_NOT_FOUND)
            buf_puts(&text, "no arrangement found; ");
        buf_addf(&text, "%s beside the other tasks: ", s.group->name);
        word = word_now; /* what the others leave is not what the cluster has */
    } else {
        return nowhere(placement, "no arrangement of the tasks on the nodes found");
    }
    word(placement, &s, &text);
    r.text = buf_to_arena(placement->arena, &text);
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
    const char *state = placement->cluster->nodes[first].up ? "drained" : "lost";
    r->why = WAIT_NODES_DOWN;
    r->node = node_name(placement, first);
    if (n == 1)
        r->text = arena_printf(placement->arena, "%s; would fit if %s were back (%s)", r->text,
                               r->node, state);
    else
        r->text = arena_printf(placement->arena,
                               "%s; would fit if %u lost or drained nodes were back (%s ...)",
                               r->text, n, r->node);
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
    struct wait_reason r = reason_of(placement, answer, word_now);
    if (!placement->some_only && any_too_short(placement) &&
        fits_in_less_time(placement, placement->steps)) {
        r = (struct wait_reason){ .why = WAIT_LABELS, .role = r.role, .node = "" };
        word_time(placement, &r);
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
        return nowhere(placement, "the cluster has no node");
    return reason_of(placement, answer, word_ever);
}

struct wait_reason reason_plain(enum wait_why why)
{
    static const char *const text[] = {
        [WAIT_AHEAD] = "jobs ahead of it in the queue come first",
        [WAIT_TIME] = "waits a while before it is tried again",
        [WAIT_AFTER] = "other jobs must end first",
        [WAIT_RESERVED] = "there is room, and starting now would delay one that was promised it",
    };
    return (struct wait_reason){
        .why = why, .resource = "", .node = "", .role = "", .text = text[why]
    };
}

/* ---- shares ---- */

static uint64_t part_of(const struct vector *v, const char *resource)
{
    if (strcmp(resource, "memory") == 0)
        return v->memory;
    return strcmp(resource, "gpu") == 0 ? v->gpu_milli : v->cpu_milli;
}

static void add_part(struct buf *out, const char *resource, uint64_t amount)
{
    struct demand d = { .kind = DEMAND_CPU, .name = resource };
    if (strcmp(resource, "memory") == 0)
        d.kind = DEMAND_MEMORY;
    else if (strcmp(resource, "gpu") == 0)
        d.kind = DEMAND_GPU;
    demand_amount(&d, amount, out);
}

struct wait_reason reason_quota(struct arena *arena, const struct quota_check *look,
                                const struct queue_spec *queue, const struct vector *demand)
{
    bool user = look->answer == QUOTA_USER;
    uint64_t need = part_of(demand, look->resource);
    struct wait_reason r = { .why = user ? WAIT_USER : WAIT_QUOTA,
                             .resource = look->resource,
                             .need = need,
                             .best = less(look->most, look->used),
                             .total = look->most,
                             .short_by = less(need, less(look->most, look->used)),
                             .queue = look->queue,
                             .node = "",
                             .role = "" };
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    if (user)
        buf_puts(&text, "a user has at most ");
    else
        buf_addf(&text, "queue \"%.60s\" has at most ", queue->name);
    add_part(&text, look->resource, look->most);
    buf_addf(&text, " %s", look->resource);
    if (user)
        buf_addf(&text, " of \"%.60s\"", queue->name);
    buf_puts(&text, ", ");
    add_part(&text, look->resource, look->used);
    buf_puts(&text, " are in use and it asks for ");
    add_part(&text, look->resource, need);
    r.text = buf_to_arena(arena, &text);
    return r;
}
