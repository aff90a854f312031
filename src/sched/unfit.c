/* Why the next task finds no node: the tasks before it are placed on a copy of the cluster, then
 * every node is asked what it lacks for one more. */
#include "sched/plan.h"

#include "sched/gang.h"
#include "sched/nodes.h"

#include <string.h>

struct tally {
    struct arena *arena;
    struct unfits *out;
    size_t cap;
};

static void count(struct tally *t, enum unfit_kind kind, const char *name)
{
    struct unfits *u = t->out;
    for (size_t i = 0; i < u->n; i++)
        if (u->at[i].kind == kind && strcmp(u->at[i].name, name) == 0) {
            u->at[i].nodes++;
            return;
        }
    if (u->n < t->cap)
        u->at[u->n++] =
            (struct unfit){ .kind = kind, .name = arena_strdup(t->arena, name), .nodes = 1 };
}

static bool misfits(const struct placement *placement, const struct group *g, uint32_t node)
{
    for (size_t m = 0; m < g->n_members; m++)
        if (task_request_refusal(g->members[m].want, cluster_form(placement->cluster, node)) !=
            NODE_REFUSAL_NONE)
            return true;
    return g->pin != UINT32_MAX && g->pin != node;
}

static void look(struct tally *t, const struct placement *placement, const struct group *g,
                 uint32_t node)
{
    const struct node *n = &placement->cluster->nodes[node];
    if (cluster_form(placement->cluster, node)->spec.gone)
        return;
    if (!n->up || n->drained) {
        count(t, n->up ? UNFIT_DRAINED : UNFIT_DOWN, "");
        return;
    }
    if (misfits(placement, g, node)) {
        count(t, UNFIT_NODE, "");
        return;
    }
    if (g->apart && g->on[node])
        count(t, UNFIT_APART, "");
    bool ports = false;
    for (size_t i = 0; i < g->n_demands; i++) {
        const struct demand *d = &g->demands[i];
        if (demand_slots(placement->cluster, node, d, 1))
            continue;
        bool port = d->kind == DEMAND_PORT || d->kind == DEMAND_PORTS;
        if (!port)
            count(t, UNFIT_RESOURCE, d->name);
        else if (!ports)
            count(t, UNFIT_PORT, "");
        ports = ports || port;
    }
}

/* Of tasks that come one by one, the group of the first that is left. */
static struct group *left_over(struct placement *placement)
{
    gang_fill(placement);
    for (size_t i = 0; i < placement->n_groups; i++)
        if (placement->groups[i].done < placement->groups[i].units)
            return &placement->groups[i];
    return NULL;
}

static struct group *stuck(struct placement *placement)
{
    placement_room(placement);
    return gang_stuck(placement);
}

struct unfits sched_unfit(const struct cluster *cluster, const struct sched_more *more,
                          struct arena *arena)
{
    struct unfits out = { .nodes = cluster_count(cluster) };
    struct cluster *copy = cluster_clone(cluster);
    struct arena *scratch = arena_create();
    struct placement placement;
    if (more->n)
        placement_init_more(&placement, scratch, copy, more);
    else
        placement_init(&placement, scratch, copy, more->spec);
    struct group *g = more->n ? left_over(&placement) : stuck(&placement);
    if (g && g->done < g->units) {
        const struct task_place *place =
            &placement.places[g->tasks[(size_t)g->done * g->size].place];
        struct tally t = { .arena = arena, .out = &out, .cap = g->n_demands + UNFIT_DOWN + 1 };
        out.at = ARENA_ARRAY(arena, t.cap, struct unfit);
        out.role = place->role;
        out.index = place->index;
        for (uint32_t node = 0; node < out.nodes; node++)
            look(&t, &placement, g, node);
    }
    arena_destroy(scratch);
    cluster_destroy(copy);
    return out;
}
