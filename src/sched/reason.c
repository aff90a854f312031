/* Wording. What is short is found in shortage.c; here it becomes a wait_reason.
 *
 * Order of the look: counting (certain and cheap); then the group that gets stuck when the others
 * have their places; and whether nodes that are lost or drained would help. */
#include "sched/reason.h"

#include "base/scan.h"

#include "base/buf.h"
#include "sched/fit.h"
#include "sched/shortage.h"
#include "sched/within.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX  512u
#define TYPES_MAX 8u /* that are named */

static char *buf_to_arena(struct arena *arena, const struct buf *text)
{
    return arena_strndup(arena, buf_str(text), text->len);
}

static const char *node_name(const struct crew *crew, uint32_t node)
{
    if (node == UINT32_MAX)
        return "";
    return arena_strdup(crew->arena, cluster_form(crew->cluster, node)->spec.name);
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

static bool some_node_has(const struct crew *crew, const struct pair *label)
{
    for (uint32_t i = 0; i < cluster_count(crew->cluster); i++) {
        const char *has = pairs_get(&cluster_form(crew->cluster, i)->spec.labels, label->name);
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
static const char *types_there(const struct crew *crew)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    const char *seen[TYPES_MAX];
    size_t n = 0;
    for (uint32_t i = 0; i < cluster_count(crew->cluster) && n < TYPES_MAX; i++) {
        const struct node_spec *spec = &cluster_form(crew->cluster, i)->spec;
        size_t k = 0;
        while (k < n && strcmp(seen[k], spec->gpu_type) != 0)
            k++;
        if (!spec->gpus || !*spec->gpu_type || k < n)
            continue;
        seen[n++] = spec->gpu_type;
        buf_addf(&text, "%s%s", n > 1 ? ", " : "; there are ", spec->gpu_type);
    }
    return n ? buf_to_arena(crew->arena, &text) : "; no node says the type of its devices";
}

static const char *group_name(const struct crew *crew, const struct group *g)
{
    return g ? arena_strdup(crew->arena, g->name) : "";
}

static void word_type(const struct crew *crew, const struct group *g, struct wait_reason *r)
{
    const struct placing *placing = &crew->job->placing;
    const struct role *role = g->members[0].want->role;
    for (size_t i = 1; i < g->n_members; i++)
        if (!role->resources.gpu_types.n)
            role = g->members[i].want->role;
    const char *types = joined(crew->arena, &role->resources.gpu_types);
    bool others = placing->labels.n || placing->nodes.n || placing->avoid.n;
    r->resource = arena_printf(crew->arena, "gpu type %s", types);
    r->text = arena_printf(crew->arena, "no node %shas gpu type %s%s",
                           others ? "with the labels and names asked for " : "", types,
                           types_there(crew));
}

/* The label that no node has; when each is somewhere, the last one asked for. */
static void word_label(const struct crew *crew, struct wait_reason *r)
{
    const struct placing *placing = &crew->job->placing;
    size_t i = 0;
    while (i + 1 < placing->labels.n && some_node_has(crew, &placing->labels.at[i]))
        i++;
    const struct pair *label = &placing->labels.at[i];
    r->resource = arena_printf(crew->arena, "label %s=%s", label->name, label->value);
    if (!some_node_has(crew, label))
        r->text =
            arena_printf(crew->arena, "no node has the label %s=%s", label->name, label->value);
    else
        r->text = placing->nodes.n ? "no node that is named has all labels asked for"
                                   : "no node has all labels asked for";
}

/* Nodes of allocations: the one that has most time left. */
static void word_time(const struct crew *crew, struct wait_reason *r)
{
    char limit[FMT_MAX], left[FMT_MAX];
    uint64_t most = 0;
    uint32_t node = 0;
    for (uint32_t i = 0; i < cluster_count(crew->cluster); i++) {
        const uint64_t lasts = cluster_form(crew->cluster, i)->spec.lasts_ms;
        if (lasts <= most)
            continue;
        most = lasts;
        node = i;
    }
    r->resource = "time";
    if (most <= NODE_ENDS || !crew->job->limits.run_time_ms.has) {
        r->text = "the allocations of the nodes it could use are about to end";
        return;
    }
    r->node = node_name(crew, node);
    r->text = arena_printf(crew->arena,
                           "its limit of %s is longer than any node it could use has left; %s has "
                           "%s",
                           fmt_duration(limit, crew->job->limits.run_time_ms.value), r->node,
                           fmt_duration(left, most));
}

static struct wait_reason misfit_reason(const struct crew *crew, const struct shortage *s)
{
    struct wait_reason r = { .why = WAIT_LABELS, .role = group_name(crew, s->group), .node = "" };
    if (s->misfit == MISFIT_TYPE) {
        word_type(crew, s->group, &r);
    } else if (s->misfit == MISFIT_LABEL) {
        word_label(crew, &r);
    } else if (s->misfit == MISFIT_PRICE) {
        r.resource = "price";
        r.text = "no node it could use costs as little as it bids";
    } else if (s->misfit == MISFIT_OWNER) {
        r.resource = "node";
        r.text = crew->job->placing.own
                     ? "its own allocation has no node"
                     : "all nodes are of allocations that other jobs have for themselves";
    } else if (s->misfit == MISFIT_ENGINE) {
        r.resource = arena_printf(crew->arena, "engine %s", crew->job->placing.engine);
        r.text =
            arena_printf(crew->arena, "no node is of the engine %s", crew->job->placing.engine);
    } else if (s->misfit == MISFIT_TIME) {
        word_time(crew, &r);
    } else {
        const char *names = joined(crew->arena, &crew->job->placing.nodes);
        r.resource = arena_printf(crew->arena, "node %s", names);
        r.text = arena_printf(crew->arena, "no node is named %s", names);
    }
    return r;
}

/* ---- now ---- */

static void word_closest(const struct crew *crew, const struct shortage *s, struct buf *out)
{
    if (s->node == UINT32_MAX) {
        buf_puts(out, "; no node is up");
        return;
    }
    buf_addf(out, "; %s comes closest with ", node_name(crew, s->node));
    add_amount(out, s->demand, s->best);
    buf_puts(out, " of ");
    add_amount(out, s->demand, s->demand->need);
    buf_puts(out, s->demand->kind == DEMAND_SHARE && s->demand->one_device ? " free on one device"
                                                                           : " free");
}

static void word_now(const struct crew *crew, const struct shortage *s, struct buf *out)
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
                 joined(crew->arena, &s->demand->type->role->resources.gpu_types));
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
    word_closest(crew, s, out);
}

/* ---- ever ---- */

static void word_ever(const struct crew *crew, const struct shortage *s, struct buf *out)
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
                     node_name(crew, s->node));
            add_amount(out, d, s->best);
        }
    }
}

/* ---- both ---- */

static uint64_t asked_in_all(const struct crew *crew, const struct demand *d)
{
    uint64_t total = 0;
    for (size_t i = 0; i < crew->n_groups; i++)
        for (size_t k = 0; k < crew->groups[i].n_demands; k++) {
            const struct demand *own = &crew->groups[i].demands[k];
            if (strcmp(own->name, d->name) == 0 &&
                __builtin_add_overflow(total, times(own->need, crew->groups[i].least), &total))
                return UINT64_MAX;
        }
    return total;
}

static struct wait_reason structured(const struct crew *crew, const struct shortage *s)
{
    struct wait_reason r = { .why = WAIT_RESOURCE, .role = group_name(crew, s->group) };
    r.node = node_name(crew, s->node);
    if (!s->demand) {
        r.resource = "node";
        r.need = 1;
        r.short_by = s->needed - s->fits;
        r.total = s->needed;
        return r;
    }
    if (s->demand->kind == DEMAND_PORT)
        r.why = WAIT_PORTS;
    r.resource = arena_strdup(crew->arena, s->demand->name);
    r.need = s->demand->need;
    r.best = s->best;
    r.short_by = missing(s);
    r.total = asked_in_all(crew, s->demand);
    return r;
}

typedef void word_fn(const struct crew *, const struct shortage *, struct buf *);

/* Nothing is short by counting: put what fits, and see what the first group without a place lacks
 * beside it. */
static bool stuck_shortage(struct crew *crew, struct shortage *s)
{
    struct group *g = gang_stuck(crew);
    bool found = false;
    if (g) {
        uint32_t needed = g->least > g->done ? g->least - g->done : 1;
        found = shortage_of_group(crew, g, needed, s);
    }
    fit_back(crew, 0);
    return found;
}

static struct wait_reason nowhere(const struct crew *crew, const char *text)
{
    return (struct wait_reason){ .why = WAIT_RESOURCE,
                                 .resource = "node",
                                 .need = 1,
                                 .short_by = 1,
                                 .node = "",
                                 .role = group_name(crew, crew->n_groups ? crew->groups : NULL),
                                 .text = text };
}

/* ---- topology ---- */

/* The first group that no domain holds by itself, in the domain that comes closest. */
static const struct group *outside(struct crew *crew, uint32_t level, uint32_t *domain)
{
    for (size_t i = 0; i < crew->n_groups; i++) {
        uint32_t units;
        *domain = within_closest(crew, &crew->groups[i], level, &units);
        if (units < crew->groups[i].least)
            return &crew->groups[i];
    }
    return NULL;
}

/* "16 gpu in one rack; rack r3 comes closest with 12 free" */
static void word_domain(const struct crew *crew, const struct shortage *s, bool ever,
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
    r->text = buf_to_arena(crew->arena, &text);
}

static struct wait_reason topology_reason(struct crew *crew, uint32_t at, bool ever)
{
    struct wait_reason r = { .why = WAIT_TOPOLOGY, .resource = "node", .need = 1, .short_by = 1 };
    struct shortage s = { .demand = NULL };
    uint32_t domain = DOMAIN_NONE;
    r.node = r.role = r.domain = "";
    r.level = arena_strdup(crew->arena, crew->job->placing.within);
    if (at == DOMAIN_NONE) {
        r.text = arena_printf(crew->arena, "the cluster has no topology level %s", r.level);
        return r;
    }
    const struct level *level = &cluster_topology(crew->cluster)->levels[at];
    const struct group *g = outside(crew, at, &domain);
    r.role = group_name(crew, g);
    if (domain == DOMAIN_NONE) {
        r.text = arena_printf(crew->arena, "no node has the label %s", r.level);
        return r;
    }
    r.domain = arena_strdup(crew->arena, level->domains[domain].name);
    crew_within(crew, level, domain);
    if (!g || !shortage_of_group(crew, g, g->least, &s)) {
        r.text = arena_printf(crew->arena, "no %s has room for all tasks together", r.level);
    } else if (!s.demand) {
        r.need = s.needed;
        r.best = s.fits;
        r.text = arena_printf(crew->arena, "%u nodes in one %s that %s can use; %s %s has %u",
                              s.needed, r.level, g->name, r.level, r.domain, s.fits);
    } else {
        r.resource = arena_strdup(crew->arena, s.demand->name);
        r.need = r.total = times(s.demand->need, s.needed);
        r.best = s.free;
        r.short_by = r.need > r.best ? r.need - r.best : missing(&s);
        r.node = node_name(crew, s.node);
        word_domain(crew, &s, ever, &r);
    }
    crew_within(crew, NULL, DOMAIN_NONE);
    return r;
}

static struct wait_reason reason_of(struct crew *crew, enum gang_answer answer, word_fn *word)
{
    struct shortage s;
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct wait_reason r;
    uint32_t level;
    if (shortage_find(crew, &s)) {
        if (s.kind == SHORTAGE_MISFIT)
            return misfit_reason(crew, &s);
        r = structured(crew, &s);
    } else if (within_required(crew, &level)) {
        return topology_reason(crew, level, word == word_ever);
    } else if (stuck_shortage(crew, &s) && s.kind != SHORTAGE_MISFIT) {
        r = structured(crew, &s);
        if (answer == GANG_NOT_FOUND)
            buf_puts(&text, "no arrangement found; ");
        buf_addf(&text, "%s beside the other tasks: ", s.group->name);
        word = word_now; /* what the others leave is not what the cluster has */
    } else {
        return nowhere(crew, "no arrangement of the tasks on the nodes found");
    }
    word(crew, &s, &text);
    r.text = buf_to_arena(crew->arena, &text);
    return r;
}

static uint32_t first_unusable(const struct cluster *c, uint32_t *n)
{
    const struct shelves *s = shelves_of(c);
    uint32_t first = UINT32_MAX;
    *n = 0;
    for (uint32_t i = shelves_next(s, SHELF_NONE, 0); i != SHELF_NONE; i = shelves_next(s, i, 0)) {
        const struct shelf *shelf = &s->at[i];
        if (shelf->usable)
            continue;
        first = shelf->first < first ? shelf->first : first;
        *n += shelf->n;
    }
    return first;
}

/* On a copy where every node is back. */
static bool fits_when_back(const struct crew *crew, uint32_t *steps)
{
    struct cluster *back = cluster_clone(crew->cluster);
    struct arena *arena = arena_create();
    struct crew again;
    cluster_revive(back);
    crew_init(&again, arena, back, crew->job);
    again.steps = steps;
    bool fits = gang_place(&again) == GANG_PLACED;
    arena_destroy(arena);
    cluster_destroy(back);
    return fits;
}

static void add_nodes_back(const struct crew *crew, struct wait_reason *r, uint32_t first,
                           uint32_t n)
{
    const char *state = crew->cluster->nodes[first].up ? "drained" : "lost";
    r->why = WAIT_NODES_DOWN;
    r->node = node_name(crew, first);
    if (n == 1)
        r->text = arena_printf(crew->arena, "%s; would fit if %s were back (%s)", r->text, r->node,
                               state);
    else
        r->text = arena_printf(crew->arena,
                               "%s; would fit if %u lost or drained nodes were back (%s ...)",
                               r->text, n, r->node);
}

/* Are there nodes where less time is left than the job's limit? */
static bool any_too_short(const struct crew *crew)
{
    const struct cluster *c = crew->cluster;
    if (!crew->job->limits.run_time_ms.has)
        return false;
    for (uint32_t i = 0; i < cluster_count(c); i++) {
        const uint64_t lasts = cluster_form(c, i)->spec.lasts_ms;
        if (lasts > NODE_ENDS && lasts < crew->job->limits.run_time_ms.value && c->nodes[i].up)
            return true;
    }
    return false;
}

static bool fits_in_less_time(const struct crew *crew, uint32_t *steps)
{
    struct cluster *copy = cluster_clone(crew->cluster);
    struct arena *arena = arena_create();
    struct job_spec brief = *crew->job;
    struct crew again;
    brief.limits.run_time_ms.has = false;
    crew_init(&again, arena, copy, &brief);
    again.steps = steps;
    bool fits = gang_place(&again) == GANG_PLACED;
    arena_destroy(arena);
    cluster_destroy(copy);
    return fits;
}

struct wait_reason reason_now(struct crew *crew, enum gang_answer answer)
{
    uint32_t n, first = first_unusable(crew->cluster, &n);
    struct wait_reason r = reason_of(crew, answer, word_now);
    if (!crew->some_only && any_too_short(crew) && fits_in_less_time(crew, crew->steps)) {
        r = (struct wait_reason){ .why = WAIT_LABELS, .role = r.role, .node = "" };
        word_time(crew, &r);
        return r;
    }
    if (n && !crew->some_only && r.why != WAIT_LABELS && fits_when_back(crew, crew->steps))
        add_nodes_back(crew, &r, first, n);
    return r;
}

struct wait_reason reason_ever(struct crew *crew, enum gang_answer answer)
{
    if (cluster_count(crew->cluster) == 0)
        return nowhere(crew, "the cluster has no node");
    return reason_of(crew, answer, word_ever);
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
