/* What is taken of each node: flat arrays over a shared layout, so that a clone is a few copies of
 * memory.
 *
 * Everything that takes goes through node_hold() and everything that gives through node_drop();
 * both change the same six things, and hold refuses before it changes the first. */
#include "sched/cluster.h"

#include "base/err.h"
#include "base/mem.h"
#include "sched/classify.h"
#include "sched/nodes.h"
#include "sched/topology.h"

#include <string.h>

#define DEVICE_MILLI  1000u
/* Of a device that is not given out, beside what is taken of it: more than any task may have. */
#define DEVICE_CLOSED 0x4000u

static void *copy_of(const void *from, size_t n)
{
    void *to = mem_resize(NULL, n); /* not zeroed only to be written */
    if (n)
        memcpy(to, from, n);
    return to;
}

static void new_ports(struct cluster *c, struct ports **ports)
{
    c->ports = ports;
    c->ports_users = mem_new(sizeof *c->ports_users);
    *c->ports_users = 1;
}

struct cluster *cluster_create(uint32_t port_first, uint32_t port_last, uint32_t port_start)
{
    if (port_first == 0 || port_last < port_first || port_last >= PORTS_MAX)
        BUG("port range %u-%u", port_first, port_last);
    struct cluster *c = mem_new(sizeof *c);
    c->layout = layout_create();
    c->classes = node_classes_create();
    new_ports(c, NULL);
    c->pool = (struct port_range){ .first = port_first, .last = port_last };
    c->port_start = port_start;
    c->unblocks_ms = UINT64_MAX;
    return c;
}

struct cluster *cluster_clone(const struct cluster *from)
{
    const struct layout *l = from->layout;
    struct cluster *c = mem_new(sizeof *c);
    *c = *from;
    c->layout->refs++;
    c->nodes = copy_of(from->nodes, sizeof(struct node) * l->n);
    c->gpu = copy_of(from->gpu, sizeof(uint16_t) * l->n_gpu);
    c->custom = copy_of(from->custom, sizeof(uint64_t) * l->n_custom);
    ++*c->ports_users;
    c->classes = node_classes_copy(node_classes_to_copy(from));
    return c;
}

/* Those of all hosts, to be changed: each map is still shared. */
static struct ports **own_ports(struct cluster *c)
{
    if (*c->ports_users == 1)
        return c->ports;
    --*c->ports_users;
    new_ports(c, copy_of(c->ports, sizeof(struct ports *) * c->layout->n_hosts));
    for (uint32_t i = 0; i < c->layout->n_hosts; i++)
        ports_share(c->ports[i]);
    return c->ports;
}

static void let_go_of_ports(struct cluster *c)
{
    if (--*c->ports_users)
        return;
    for (uint32_t i = 0; i < c->layout->n_hosts; i++)
        ports_unshare(c->ports[i]);
    free(c->ports);
    free(c->ports_users);
}

void cluster_destroy(struct cluster *c)
{
    if (!c)
        return;
    let_go_of_ports(c);
    layout_unshare(c->layout);
    free(c->nodes);
    free(c->gpu);
    free(c->custom);
    node_classes_destroy(c->classes);
    free(c);
}

/* What is taken of a device: a closed one counts as wholly taken. */
static uint32_t taken_of(uint16_t device)
{
    return device & DEVICE_CLOSED ? DEVICE_MILLI : device;
}

static void set_device(struct cluster *c, uint32_t node, uint32_t device, uint32_t value)
{
    const struct form *f = cluster_form(c, node);
    uint16_t *at = &c->gpu[f->gpu_at + device];
    uint32_t before = taken_of(*at);
    bool was_idle = *at == 0;
    *at = (uint16_t)value;
    c->nodes[node].gpu_milli = c->nodes[node].gpu_milli - before + taken_of(*at);
    if (device < f->spec.gpus)
        c->nodes[node].idle_gpus = c->nodes[node].idle_gpus - was_idle + (*at == 0);
}

void cluster_close_device(struct cluster *c, uint32_t node, uint32_t device, bool closed)
{
    const struct form *f = cluster_form(c, node);
    if (device >= f->spec.gpus)
        return;
    uint32_t taken = c->gpu[f->gpu_at + device] & ~DEVICE_CLOSED;
    set_device(c, node, device, closed ? taken | DEVICE_CLOSED : taken);
    node_classes_touch(c->classes, node);
}

bool cluster_device_is_closed(const struct cluster *c, uint32_t node, uint32_t device)
{
    const struct form *f = cluster_form(c, node);
    return device < f->spec.gpus && c->gpu[f->gpu_at + device] & DEVICE_CLOSED;
}

uint64_t cluster_gpu_held(const struct cluster *c, uint32_t node)
{
    const struct form *f = cluster_form(c, node);
    uint64_t held = 0;
    for (uint32_t i = 0; i < f->gpu_slots; i++)
        held += c->gpu[f->gpu_at + i] & ~DEVICE_CLOSED;
    return held;
}

static void count_idle(struct cluster *c, uint32_t node)
{
    const struct form *f = cluster_form(c, node);
    uint32_t idle = 0;
    for (uint32_t i = 0; i < f->spec.gpus; i++)
        idle += c->gpu[f->gpu_at + i] == 0;
    c->nodes[node].idle_gpus = idle;
}

static void *grown(void *at, size_t before, size_t now, size_t size)
{
    if (now <= before)
        return at;
    at = mem_resize(at, now * size);
    memset((char *)at + before * size, 0, (now - before) * size);
    return at;
}

/* Slots that moved within the arrays take their contents along. */
static void move_slots(struct cluster *c, const struct form *f, const struct form *before)
{
    if (f->gpu_at != before->gpu_at)
        memcpy(&c->gpu[f->gpu_at], &c->gpu[before->gpu_at], before->gpu_slots * sizeof *c->gpu);
    if (f->custom_at != before->custom_at && before->custom.n)
        memcpy(&c->custom[f->custom_at], &c->custom[before->custom_at],
               before->custom.n * sizeof *c->custom);
}

/* The layout for changing it: classes are made anew afterwards. */
static struct layout *own_layout(struct cluster *c)
{
    if (c->layout->refs > 1) {
        struct layout *own = layout_copy(c->layout);
        c->layout->refs--;
        c->layout = own;
    }
    node_classes_forget(c->classes);
    return c->layout;
}

uint32_t cluster_put(struct cluster *c, const struct node_spec *spec)
{
    struct ports **ports = own_ports(c); /* as many as there are hosts so far */
    struct layout *l = own_layout(c);
    const struct layout was = *l;
    uint32_t known = layout_find(l, spec->name);
    struct form *before = known == UINT32_MAX ? NULL : l->forms[known];
    if (before)
        before->refs++; /* layout_put lets go of it, and its slots are still to be read */
    uint32_t at = layout_put(l, spec);
    c->nodes = grown(c->nodes, was.n, l->n, sizeof *c->nodes);
    c->gpu = grown(c->gpu, was.n_gpu, l->n_gpu, sizeof *c->gpu);
    c->custom = grown(c->custom, was.n_custom, l->n_custom, sizeof *c->custom);
    c->ports = grown(ports, was.n_hosts, l->n_hosts, sizeof(struct ports *));
    if (before) {
        move_slots(c, l->forms[at], before);
        if (--before->refs == 0)
            arena_destroy(before->arena);
    } else {
        c->nodes[at].up = true;
    }
    count_idle(c, at);
    return at;
}

void cluster_set_potential(struct cluster *c, struct potential *p)
{
    node_classes_price(c->classes, p);
}

bool cluster_shape(const struct cluster *c, const struct job_spec *job, uint32_t role,
                   struct shape *out)
{
    struct task_request w;
    layout_settle(c->layout);
    if (role >= job->n_roles)
        return false;
    task_request_init(&w, job, role);
    *out = task_request_price_shape(&w, c->layout->kinds, 1);
    return true;
}

const struct kinds *cluster_kinds(const struct cluster *c)
{
    layout_settle(c->layout);
    return c->layout->kinds;
}

int cluster_set_levels(struct cluster *c, const struct words *levels, struct err *err)
{
    struct topology *t = topology_create(forms_of(c->layout), levels);
    int rc = topology_check(t, forms_of(c->layout), err);
    topology_destroy(t);
    if (rc == 0)
        layout_set_levels(own_layout(c), levels);
    return rc;
}

bool cluster_has_level(const struct cluster *c, const char *name)
{
    return topology_level(cluster_topology(c), name) != DOMAIN_NONE;
}

const struct topology *cluster_topology(const struct cluster *c)
{
    layout_settle(c->layout);
    return c->layout->topology;
}

void cluster_set_up(struct cluster *c, uint32_t node, bool up)
{
    c->nodes[node].up = up;
    node_classes_touch(c->classes, node);
}

void cluster_set_drained(struct cluster *c, uint32_t node, bool drained)
{
    c->nodes[node].drained = drained;
    node_classes_touch(c->classes, node);
}

void cluster_revive(struct cluster *c)
{
    for (uint32_t i = 0; i < c->layout->n; i++) {
        if (node_usable(&c->nodes[i]))
            continue;
        c->nodes[i].up = true;
        c->nodes[i].drained = false;
        node_classes_touch(c->classes, i);
    }
}

struct cluster *cluster_clone_empty(const struct cluster *from)
{
    const struct layout *l = from->layout;
    struct cluster *c = mem_new(sizeof *c);
    *c = *from;
    c->layout->refs++;
    c->nodes = mem_new(sizeof(struct node) * l->n + 1);
    c->gpu = mem_new(sizeof(uint16_t) * l->n_gpu + 1);
    c->custom = mem_new(sizeof(uint64_t) * l->n_custom + 1);
    new_ports(c, mem_new(sizeof(struct ports *) * l->n_hosts + 1));
    c->classes = l->empty ? node_classes_copy(l->empty) : node_classes_create();
    for (uint32_t i = 0; i < l->n; i++)
        c->nodes[i].up = true;
    for (uint32_t i = 0; i < l->n; i++)
        c->nodes[i].idle_gpus = l->forms[i]->spec.gpus;
    if (!c->layout->empty)
        c->layout->empty = node_classes_copy(node_classes_of(c));
    return c;
}

uint32_t cluster_count(const struct cluster *c)
{
    return c->layout->n;
}

uint32_t cluster_find(const struct cluster *c, const char *name)
{
    return layout_find(c->layout, name);
}

struct node_view cluster_node(const struct cluster *c, uint32_t node)
{
    const struct node *n = &c->nodes[node];
    return (struct node_view){
        .spec = &cluster_form(c, node)->spec,
        .up = n->up,
        .drained = n->drained,
        .cpu_used = n->cpu,
        .memory_used = n->memory,
        .disk_used = n->disk,
        .gpu_used_milli = n->gpu_milli,
        .tasks = n->tasks,
    };
}

const struct ports *cluster_ports(const struct cluster *c, uint32_t node)
{
    return c->ports[cluster_form(c, node)->host];
}

struct ports *cluster_own_ports(struct cluster *c, uint32_t node)
{
    return ports_own(&own_ports(c)[cluster_form(c, node)->host], c->pool, c->port_start);
}

void cluster_expire_blocks(struct cluster *c, uint64_t now_ms)
{
    if (c->unblocks_ms > now_ms)
        return;
    c->unblocks_ms = UINT64_MAX;
    for (uint32_t i = 0; i < c->layout->n_hosts; i++) {
        uint64_t next = ports_unblocks(c->ports[i]);
        if (next <= now_ms) {
            ports_expire(ports_own(&own_ports(c)[i], c->pool, c->port_start), now_ms);
            next = ports_unblocks(c->ports[i]);
        }
        c->unblocks_ms = next < c->unblocks_ms ? next : c->unblocks_ms;
    }
}

uint64_t cluster_unblocks(const struct cluster *c)
{
    return c->unblocks_ms;
}

static void unblocks_by(struct cluster *c, uint64_t ms)
{
    c->unblocks_ms = ms < c->unblocks_ms ? ms : c->unblocks_ms;
}

void cluster_block_port(struct cluster *c, uint32_t node, uint32_t port, uint64_t until_ms)
{
    if (port >= PORTS_MAX)
        return;
    unblocks_by(c, until_ms);
    ports_block(cluster_own_ports(c, node), port, until_ms);
}

bool node_has_amounts(const struct cluster *c, uint32_t node, const struct task_request *w)
{
    const struct node *n = &c->nodes[node];
    const struct form *f = cluster_form(c, node);
    const struct resources *r = &w->role->resources;
    if (r->cpu_milli > less(f->spec.cpu_milli, n->cpu))
        return false;
    if (r->memory > less(f->spec.memory, n->memory) || r->disk > less(f->spec.disk, n->disk))
        return false;
    for (size_t i = 0; i < r->custom.n; i++) {
        size_t slot = form_custom(f, r->custom.at[i].name);
        if (!r->custom.at[i].milli)
            continue;
        if (slot == SIZE_MAX ||
            r->custom.at[i].milli > less(f->custom.at[slot].milli, c->custom[f->custom_at + slot]))
            return false;
    }
    return true;
}

/* Milli that a task takes of each of its devices. */
static uint32_t device_milli(const struct task_request *w)
{
    return w->devices ? DEVICE_MILLI : w->share;
}

static bool has_devices(const struct cluster *c, uint32_t node, const struct task_request *w,
                        const struct task_place *p)
{
    const struct form *f = cluster_form(c, node);
    if (p->n_gpus != (w->devices ? w->devices : w->share ? 1u : 0u))
        return false;
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        if (p->gpus[i] >= f->spec.gpus)
            return false;
        if (c->gpu[f->gpu_at + p->gpus[i]] + device_milli(w) > DEVICE_MILLI)
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (p->gpus[k] == p->gpus[i])
                return false;
    }
    return true;
}

static void drop_ports(struct cluster *c, uint32_t node, const struct task_place *p, uint32_t n)
{
    for (uint32_t i = 0, seen = 0; i < p->n_ports; i++)
        for (uint32_t k = 0; k < p->ports[i].count && seen < n; k++, seen++)
            ports_drop(cluster_own_ports(c, node), p->ports[i].numbers[k]);
}

static bool hold_ports(struct cluster *c, uint32_t node, const struct task_place *p)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < p->n_ports; i++)
        for (uint32_t k = 0; k < p->ports[i].count; k++, held++) {
            uint32_t port = p->ports[i].numbers[k];
            if (port == 0 || port >= PORTS_MAX || ports_held(cluster_ports(c, node), port)) {
                drop_ports(c, node, p, held);
                return false;
            }
            ports_hold(cluster_own_ports(c, node), port);
        }
    return true;
}

static void add_task(struct cluster *c, uint32_t node, const struct task_request *w,
                     const struct task_place *p)
{
    struct node *n = &c->nodes[node];
    const struct form *f = cluster_form(c, node);
    const struct resources *r = &w->role->resources;
    n->cpu += r->cpu_milli;
    n->memory += r->memory;
    n->disk += r->disk;
    n->tasks++;
    node_classes_touch(c->classes, node);
    for (size_t i = 0; i < r->custom.n; i++)
        if (r->custom.at[i].milli)
            c->custom[f->custom_at + form_custom(f, r->custom.at[i].name)] += r->custom.at[i].milli;
    for (uint32_t i = 0; i < p->n_gpus; i++)
        set_device(c, node, p->gpus[i], c->gpu[f->gpu_at + p->gpus[i]] + device_milli(w));
}

bool node_hold(struct cluster *c, uint32_t node, const struct task_request *w,
               const struct task_place *p)
{
    if (!node_has_amounts(c, node, w) || !has_devices(c, node, w, p) || !hold_ports(c, node, p))
        return false;
    add_task(c, node, w, p);
    return true;
}

void node_hold_back(struct cluster *c, uint32_t node, const struct task_request *w,
                    const struct task_place *p)
{
    if (!hold_ports(c, node, p))
        BUG("task %u/%u does not get its ports back", p->role, p->index);
    add_task(c, node, w, p);
}

void node_drop(struct cluster *c, uint32_t node, const struct task_request *w,
               const struct task_place *p)
{
    struct node *n = &c->nodes[node];
    const struct form *f = cluster_form(c, node);
    const struct resources *r = &w->role->resources;
    n->cpu -= r->cpu_milli;
    n->memory -= r->memory;
    n->disk -= r->disk;
    n->tasks--;
    node_classes_touch(c->classes, node);
    for (size_t i = 0; i < r->custom.n; i++)
        if (r->custom.at[i].milli)
            c->custom[f->custom_at + form_custom(f, r->custom.at[i].name)] -= r->custom.at[i].milli;
    for (uint32_t i = 0; i < p->n_gpus; i++)
        set_device(c, node, p->gpus[i], c->gpu[f->gpu_at + p->gpus[i]] - device_milli(w));
    drop_ports(c, node, p, UINT32_MAX);
}

void node_copy(struct cluster *to, const struct cluster *from, uint32_t node)
{
    const struct form *f = cluster_form(to, node);
    node_classes_touch(to->classes, node);
    unblocks_by(to, from->unblocks_ms);
    to->nodes[node] = from->nodes[node];
    if (f->gpu_slots)
        memcpy(&to->gpu[f->gpu_at], &from->gpu[f->gpu_at], f->gpu_slots * sizeof *to->gpu);
    if (f->custom.n)
        memcpy(&to->custom[f->custom_at], &from->custom[f->custom_at],
               f->custom.n * sizeof *to->custom);
    if (to->ports[f->host] == from->ports[f->host])
        return;
    own_ports(to);
    ports_unshare(to->ports[f->host]);
    to->ports[f->host] = ports_share(from->ports[f->host]);
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void node_raise(struct cluster *to, const struct cluster *from, uint32_t node)
{
    const struct form *f = cluster_form(to, node);
    struct node *n = &to->nodes[node];
    const struct node *other = &from->nodes[node];
    node_classes_touch(to->classes, node);
    unblocks_by(to, from->unblocks_ms);
    n->cpu = more(n->cpu, other->cpu);
    n->memory = more(n->memory, other->memory);
    n->disk = more(n->disk, other->disk);
    n->tasks = (uint32_t)more(n->tasks, other->tasks);
    for (uint32_t i = 0; i < f->gpu_slots; i++) {
        uint16_t *device = &to->gpu[f->gpu_at + i];
        uint16_t raised = (uint16_t)more(*device, from->gpu[f->gpu_at + i]);
        n->gpu_milli += taken_of(raised) - taken_of(*device);
        *device = raised;
    }
    for (size_t i = 0; i < f->custom.n; i++)
        to->custom[f->custom_at + i] =
            more(to->custom[f->custom_at + i], from->custom[f->custom_at + i]);
    count_idle(to, node);
    if (from->ports[f->host] && from->ports[f->host] != to->ports[f->host])
        ports_join(cluster_own_ports(to, node), from->ports[f->host]);
}

uint32_t place_node(const struct cluster *c, const struct task_place *p)
{
    if (!p->node)
        return UINT32_MAX;
    if (p->hint && p->hint <= c->layout->n &&
        strcmp(cluster_form(c, p->hint - 1)->spec.name, p->node) == 0)
        return p->hint - 1;
    return cluster_find(c, p->node);
}

bool cluster_take(struct cluster *c, const struct job_spec *job, const struct task_place *p)
{
    uint32_t node = place_node(c, p);
    if (node == UINT32_MAX || p->role >= job->n_roles)
        return false;
    struct task_request w;
    task_request_init(&w, job, p->role);
    return node_hold(c, node, &w, p);
}

static bool names_amount(const struct amounts *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i].name, name) == 0)
            return true;
    return false;
}

/* The node with room for all that it holds and for the task's as well. */
static struct node_spec widened(struct arena *arena, const struct cluster *c, uint32_t node,
                                const struct task_request *w, const struct task_place *p)
{
    const struct resources *r = &w->role->resources;
    struct node_spec spec = cluster_form(c, node)->spec;
    const struct amounts had = spec.custom;
    spec.report = NULL; /* it is of as many devices as there are */
    spec.cpu_milli = c->nodes[node].cpu + r->cpu_milli;
    spec.memory = c->nodes[node].memory + r->memory;
    spec.disk = c->nodes[node].disk + r->disk;
    for (uint32_t i = 0; i < p->n_gpus; i++)
        spec.gpus = p->gpus[i] >= spec.gpus ? p->gpus[i] + 1 : spec.gpus;
    spec.custom.at = ARENA_ARRAY(arena, had.n + r->custom.n, struct amount);
    spec.custom.n = 0;
    for (size_t i = 0; i < r->custom.n; i++)
        spec.custom.at[spec.custom.n++] =
            (struct amount){ .name = r->custom.at[i].name, .milli = UINT64_MAX };
    for (size_t i = 0; i < had.n; i++)
        if (!names_amount(&r->custom, had.at[i].name))
            spec.custom.at[spec.custom.n++] = had.at[i];
    return spec;
}

/* The node has less now than when it was given: it keeps what it holds, as it does where that
 * happens while the server lives (cluster_put). */
static bool hold_beyond(struct cluster *c, uint32_t node, const struct task_request *w,
                        const struct task_place *p)
{
    struct arena *arena = arena_create();
    struct form *before = c->layout->forms[node];
    const struct node_spec spec = widened(arena, c, node, w, p);
    before->refs++; /* its texts are those of the node that is put back */
    cluster_put(c, &spec);
    bool held = node_hold(c, node, w, p);
    cluster_put(c, &before->spec);
    if (--before->refs == 0)
        arena_destroy(before->arena);
    arena_destroy(arena);
    return held;
}

bool cluster_take_again(struct cluster *c, const struct job_spec *job, const struct task_place *p)
{
    uint32_t node = place_node(c, p);
    struct task_request w;
    if (node == UINT32_MAX || p->role >= job->n_roles)
        return false;
    AUTO_FREE bool *closed = mem_new((p->n_gpus + 1) * sizeof *closed);
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        closed[i] = cluster_device_is_closed(c, node, p->gpus[i]);
        cluster_close_device(c, node, p->gpus[i], false);
    }
    task_request_init(&w, job, p->role);
    bool taken = node_hold(c, node, &w, p) || hold_beyond(c, node, &w, p);
    for (uint32_t i = 0; i < p->n_gpus; i++)
        if (closed[i])
            cluster_close_device(c, node, p->gpus[i], true);
    return taken;
}

void cluster_give(struct cluster *c, const struct job_spec *job, const struct task_place *p)
{
    uint32_t node = place_node(c, p);
    if (node == UINT32_MAX || p->role >= job->n_roles)
        BUG("task %u/%u given back on node \"%s\"", p->role, p->index, p->node);
    struct task_request w;
    task_request_init(&w, job, p->role);
    node_drop(c, node, &w, p);
}
