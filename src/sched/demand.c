/* Demands: the one place that knows how much of a thing a node has free and how often a unit fits
 * into that.
 *
 * Placing takes the least over all demands, and a wait reason names the one that is short: both
 * read the same figures, so that a reason cannot say anything else than what was decided by. */
#include "sched/demand.h"

#include "base/scan.h"

#include <string.h>

static void add_amount(struct demand *list, size_t *n, enum demand_kind kind, const char *name,
                       uint64_t amount)
{
    if (!amount)
        return;
    size_t i = 0;
    while (i < *n && (list[i].kind != kind || strcmp(list[i].name, name) != 0))
        i++;
    if (i == *n)
        list[(*n)++] = (struct demand){ .kind = kind, .name = name };
    if (__builtin_add_overflow(list[i].need, amount, &list[i].need))
        list[i].need = UINT64_MAX;
}

static void add_gpus(struct demand *list, size_t *n, const struct member *members, size_t n_members)
{
    uint64_t whole = 0, shares = 0, tasks = 0, kinds = 0;
    const struct task_request *last = NULL;
    for (size_t i = 0; i < n_members; i++) {
        if (members[i].want->devices || members[i].want->share) {
            kinds += members[i].want != last;
            last = members[i].want;
        }
        whole += UINT64_C(1000) * members[i].want->devices * members[i].per;
        shares += (uint64_t)members[i].want->share * members[i].per;
        tasks += members[i].want->share ? members[i].per : 0;
    }
    add_amount(list, n, DEMAND_GPU, "gpu", whole);
    if (shares) {
        add_amount(list, n, DEMAND_SHARE, "gpu", shares + whole);
        list[*n - 1].one_device = tasks == 1 && !whole;
    }
    for (size_t i = 0; i < *n && kinds == 1 && last->role->resources.gpu_types.n; i++)
        list[i].type = last;
}

static void add_ports(struct arena *arena, struct demand *list, size_t *n, const struct member *m)
{
    for (size_t i = 0; i < m->want->role->n_ports; i++) {
        const struct port_request *p = &m->want->role->ports[i];
        if (!p->first || p->prefer) {
            add_amount(list, n, DEMAND_PORTS, "ports", times(p->count, m->per));
            continue;
        }
        list[(*n)++] = (struct demand){
            .kind = DEMAND_PORT,
            .name = p->count == 1
                        ? arena_printf(arena, "port %u", p->first)
                        : arena_printf(arena, "ports %u-%u", p->first, p->first + p->count - 1),
            .need = 1,
            .range = { .first = p->first, .last = p->first + p->count - 1 },
            .per_unit = m->per,
        };
    }
}

struct demand *demand_list(struct arena *arena, const struct member *members, size_t n_members,
                           size_t *n)
{
    size_t most = 5;
    for (size_t i = 0; i < n_members; i++)
        most += members[i].want->role->resources.custom.n + members[i].want->role->n_ports + 1;
    struct demand *list = ARENA_ARRAY(arena, most, struct demand);
    *n = 0;
    add_gpus(list, n, members, n_members);
    for (size_t i = 0; i < n_members; i++) {
        const struct resources *r = &members[i].want->role->resources;
        add_amount(list, n, DEMAND_CPU, "cpu", times(r->cpu_milli, members[i].per));
        add_amount(list, n, DEMAND_MEMORY, "memory", times(r->memory, members[i].per));
        add_amount(list, n, DEMAND_DISK, "disk", times(r->disk, members[i].per));
        for (size_t k = 0; k < r->custom.n; k++)
            add_amount(list, n, DEMAND_CUSTOM, r->custom.at[k].name,
                       times(r->custom.at[k].milli, members[i].per));
        add_ports(arena, list, n, &members[i]);
    }
    return list;
}

/* Nothing of a device that has another type. */
static uint32_t device_free(const struct cluster *c, const struct form *f, const struct demand *d,
                            uint32_t device)
{
    if (d->type && !task_request_takes_device(d->type, f, device))
        return 0;
    return (uint32_t)less(1000, c->gpu[f->gpu_at + device]);
}

static bool range_free(const struct ports *p, struct port_range r)
{
    for (uint32_t port = r.first; port <= r.last; port++)
        if (port >= PORTS_MAX || ports_busy(p, port))
            return false;
    return true;
}

static uint64_t share_slots(const struct cluster *c, uint32_t node, const struct demand *d)
{
    const struct form *f = cluster_form(c, node);
    uint64_t slots = 0;
    for (uint32_t i = 0; i < f->spec.gpus; i++)
        slots += device_free(c, f, d, i) / d->need;
    return slots;
}

static uint64_t share_best(const struct cluster *c, uint32_t node, const struct demand *d,
                           bool left)
{
    const struct form *f = cluster_form(c, node);
    uint64_t best = 0;
    for (uint32_t i = 0; i < f->spec.gpus; i++) {
        uint64_t here = device_free(c, f, d, i);
        if (left)
            here %= d->need;
        best = here > best ? here : best;
    }
    return best;
}

static uint64_t custom_free(const struct cluster *c, uint32_t node, const char *name)
{
    const struct form *f = cluster_form(c, node);
    size_t slot = form_custom(f, name);
    return slot == SIZE_MAX ? 0 : less(f->custom.at[slot].milli, c->custom[f->custom_at + slot]);
}

/* Of whole devices those that nobody uses. Several tasks of a unit with shares may lie on several
 * devices: all that is free counts. */
static uint64_t gpu_free(const struct cluster *c, uint32_t node, const struct demand *d)
{
    const struct form *f = cluster_form(c, node);
    uint64_t free = 0;
    if (!d->type || !f->spec.report)
        return d->kind == DEMAND_GPU
                   ? UINT64_C(1000) * c->nodes[node].idle_gpus
                   : less(UINT64_C(1000) * f->spec.gpus, c->nodes[node].gpu_milli);
    for (uint32_t i = 0; i < f->spec.gpus; i++) {
        uint64_t here = device_free(c, f, d, i);
        free += d->kind == DEMAND_SHARE || here == 1000 ? here : 0;
    }
    return free;
}

uint64_t demand_free(const struct cluster *c, uint32_t node, const struct demand *d)
{
    const struct node *n = &c->nodes[node];
    const struct node_spec *spec = &cluster_form(c, node)->spec;
    switch (d->kind) {
    case DEMAND_GPU: return gpu_free(c, node, d);
    case DEMAND_SHARE: return d->one_device ? share_best(c, node, d, false) : gpu_free(c, node, d);
    case DEMAND_CPU: return less(spec->cpu_milli, n->cpu);
    case DEMAND_MEMORY: return less(spec->memory, n->memory);
    case DEMAND_DISK: return less(spec->disk, n->disk);
    case DEMAND_CUSTOM: return custom_free(c, node, d->name);
    case DEMAND_PORTS: return ports_idle(cluster_ports(c, node), c->pool);
    case DEMAND_PORT: return range_free(cluster_ports(c, node), d->range);
    }
    return 0;
}

uint64_t demand_slots(const struct cluster *c, uint32_t node, const struct demand *d,
                      uint64_t limit)
{
    uint64_t slots;
    if (d->kind == DEMAND_SHARE && d->one_device)
        slots = share_slots(c, node, d);
    else if (d->kind == DEMAND_PORT)
        slots = d->per_unit == 1 ? demand_free(c, node, d) : 0;
    else
        slots = demand_free(c, node, d) / d->need;
    return slots < limit ? slots : limit;
}

uint64_t demand_left(const struct cluster *c, uint32_t node, const struct demand *d)
{
    if (d->kind == DEMAND_SHARE && d->one_device)
        return share_best(c, node, d, true);
    return demand_free(c, node, d) % d->need;
}

void demand_amount(const struct demand *d, uint64_t amount, struct buf *out)
{
    char text[FMT_MAX];
    switch (d->kind) {
    case DEMAND_MEMORY:
    case DEMAND_DISK: buf_puts(out, fmt_size(text, amount)); break;
    case DEMAND_PORTS:
    case DEMAND_PORT: buf_addf(out, "%llu", (unsigned long long)amount); break;
    default: buf_puts(out, fmt_milli(text, amount));
    }
}
