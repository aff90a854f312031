/* The state of each node of a cluster, and the class that it puts the node in. A class's state is
 * read from a node in it, so nodes that changed leave their classes before any of them is put into
 * one again. */
#include "sched/classify.h"

#include "base/hash.h"
#include "sched/kinds.h"
#include "sched/nodes.h"

#include <string.h>

static uint64_t custom_left(const struct cluster *c, const struct form *f, size_t slot)
{
    return less(f->custom.at[slot].milli, c->custom[f->custom_at + slot]);
}

/* Sorts the free milli of its devices, and says the rest. */
static struct node_class state_of(const struct cluster *c, struct node_classes *s, uint32_t node)
{
    const struct node *n = &c->nodes[node];
    const struct form *f = cluster_form(c, node);
    struct node_class state = {
        .kind = c->layout->kinds->of[node],
        .usable = node_usable(n),
        .cpu = less(f->spec.cpu_milli, n->cpu),
        .memory = less(f->spec.memory, n->memory),
        .disk = less(f->spec.disk, n->disk),
        .gpu = less(UINT64_C(1000) * f->spec.gpus, n->gpu_milli),
        .idle = n->idle_gpus,
    };
    uint64_t h = hash_add(hash_add(state.kind, state.usable), state.cpu);
    h = hash_add(hash_add(hash_add(h, state.memory), state.disk), state.gpu);
    uint16_t *sorted = &s->free_milli[f->gpu_at];
    for (uint32_t i = 0; i < f->spec.gpus; i++) {
        uint16_t here = (uint16_t)less(1000, c->gpu[f->gpu_at + i]);
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] < here; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = here;
    }
    for (uint32_t i = 0; i < f->spec.gpus; i++)
        h = hash_add(h, sorted[i]);
    for (size_t i = 0; i < f->custom.n; i++)
        h = hash_add(h, custom_left(c, f, i));
    state.most = f->spec.gpus ? sorted[0] : 0;
    state.hash = h;
    return state;
}

static bool same_state(const struct cluster *c, const struct node_classes *s,
                       const struct node_class *class, const struct node_class *state,
                       uint32_t node)
{
    if (class->kind != state->kind || class->usable != state->usable || class->cpu != state->cpu ||
        class->memory != state->memory || class->disk != state->disk || class->gpu != state->gpu)
        return false;
    const struct form *a = cluster_form(c, class->root), *b = cluster_form(c, node);
    if (a->spec.gpus && memcmp(&s->free_milli[a->gpu_at], &s->free_milli[b->gpu_at],
                               a->spec.gpus * sizeof *s->free_milli) != 0)
        return false;
    for (size_t i = 0; i < a->custom.n; i++)
        if (custom_left(c, a, i) != custom_left(c, b, i))
            return false;
    return true;
}

static uint32_t hold_state(const struct cluster *c, struct node_classes *s,
                           const struct node_class *class, uint32_t node)
{
    const struct form *f = cluster_form(c, node);
    struct node_state state = { .cpu_milli = class->cpu,
                                .memory = class->memory,
                                .kind = c->layout->kinds->type[class->kind] };
    state.n = (uint16_t)(f->spec.gpus < NODE_DEVICES ? f->spec.gpus : NODE_DEVICES);
    memcpy(state.free, &s->free_milli[f->gpu_at], state.n * sizeof *state.free);
    return potential_hold(s->potential, &state);
}

static void put_on(const struct cluster *c, struct node_classes *s, uint32_t node)
{
    struct node_class state = state_of(c, s, node);
    uint32_t at = hash_index_first(&s->by_state, state.hash);
    while (at != HASH_INDEX_NONE && !same_state(c, s, &s->at[at], &state, node))
        at = hash_index_next(&s->by_state, at);
    if (at == HASH_INDEX_NONE) {
        state.state = s->potential ? hold_state(c, s, &state, node) : POSITION_NONE;
        at = node_classes_add(s, &state);
    }
    node_classes_put_on(s, at, node);
}

static void make_all(const struct cluster *c, struct node_classes *s)
{
    struct layout *l = c->layout;
    layout_settle(l);
    node_classes_begin(s, l->n, l->n_gpu, l->kinds->n);
    for (uint32_t i = 0; i < l->n; i++)
        put_on(c, s, i);
}

struct node_classes *node_classes_of(const struct cluster *c)
{
    struct node_classes *s = c->classes;
    if (s->stale)
        make_all(c, s);
    node_classes_own(s); /* who looks leaves notes */
    if (!s->n_dirty)
        return s;
    /* All of them go first: a class's state is read from a node in it, which must be as it was. */
    for (uint32_t i = 0; i < s->n_dirty; i++)
        node_classes_take_off(s, s->dirty[i]);
    for (uint32_t i = 0; i < s->n_dirty; i++) {
        s->is_dirty[s->dirty[i]] = 0;
        put_on(c, s, s->dirty[i]);
    }
    s->n_dirty = 0;
    return s;
}

const struct node_classes *node_classes_to_copy(const struct cluster *c)
{
    bool shared = c->classes->users && *c->classes->users > 1;
    return shared ? c->classes : node_classes_of(c);
}

uint64_t node_classes_stamp(const struct cluster *c)
{
    if (c->classes->stale)
        make_all(c, c->classes);
    return ++c->classes->stamps;
}
