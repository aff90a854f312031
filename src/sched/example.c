/* Places for looking at a job without a server: one node that has all of it.
 *
 * Nothing is refused: labels, types and pins are taken as satisfied, and a port by number is shown
 * with that number on every task, as it would be on as many hosts. */
#include "sched/plan.h"
#include "sched/task_request.h"

#define EXAMPLE_PORT_FIRST 15000u
#define EXAMPLE_PORT_LAST  39999u

struct example {
    struct arena *arena;
    uint32_t port;         /* next one */
    uint32_t device, used; /* the device that shares go to, and what is taken of it */
};

static uint32_t next_port(struct example *e)
{
    uint32_t port = e->port;
    e->port = port == EXAMPLE_PORT_LAST ? EXAMPLE_PORT_FIRST : port + 1;
    return port;
}

static void give_ports(struct example *e, const struct role *r, struct task_place *p)
{
    p->ports = ARENA_ARRAY(e->arena, r->n_ports, struct placed_port);
    p->n_ports = (uint32_t)r->n_ports;
    for (size_t i = 0; i < r->n_ports; i++) {
        const struct port_request *ask = &r->ports[i];
        struct placed_port *port = &p->ports[i];
        *port = (struct placed_port){ .label = arena_strdup(e->arena, ask->label),
                                      .numbers = ARENA_ARRAY(e->arena, ask->count, uint32_t),
                                      .count = ask->count };
        for (uint32_t k = 0; k < ask->count; k++)
            port->numbers[k] = ask->first ? ask->first + k : next_port(e);
    }
}

static void give_devices(struct example *e, const struct task_request *w, struct task_place *p)
{
    if (!w->devices && !w->share)
        return;
    p->n_gpus = w->devices ? w->devices : 1;
    p->gpu_share_milli = w->share;
    p->gpus = ARENA_ARRAY(e->arena, p->n_gpus, uint32_t);
    if (e->used && (w->devices || e->used + w->share > 1000)) {
        e->device++;
        e->used = 0;
    }
    for (uint32_t i = 0; i < p->n_gpus; i++)
        p->gpus[i] = w->devices ? e->device++ : e->device;
    e->used += w->share;
}

struct plan_entry sched_example(const struct job_spec *job, struct arena *arena)
{
    struct example e = { .arena = arena, .port = EXAMPLE_PORT_FIRST };
    struct plan_entry entry = { .kind = PLAN_ADMIT };
    size_t total = 0;
    for (size_t i = 0; i < job->n_roles; i++)
        total += job->roles[i].replicas;
    entry.tasks = ARENA_ARRAY(arena, total, struct task_place);
    for (uint32_t r = 0; r < job->n_roles; r++) {
        struct task_request w;
        task_request_init(&w, job, r);
        for (uint32_t k = 0; k < job->roles[r].replicas; k++) {
            struct task_place *p = &entry.tasks[entry.n_tasks++];
            *p = (struct task_place){ .role = r, .index = k, .attempt = 1 };
            p->node = "node";
            p->address = "127.0.0.1";
            give_ports(&e, &job->roles[r], p);
            give_devices(&e, &w, p);
        }
    }
    return entry;
}
