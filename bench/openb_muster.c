/* Our policy in the openb experiment: src/sched's mix and potential, which learn from the tasks as
 * they arrive. What is here is the choice among states, ties, and the way back to nodes. */
#include "openb_policy.h"

#include "base/mem.h"
#include "sched/potential.h"

struct ours {
    struct mix *mix;
    struct potential *potential;
    uint32_t *state;         /* of each node */
    uint32_t *nodes;         /* in each state */
    struct putting *putting; /* of each state, in this choice */
    uint32_t bound;
};

static struct shape shape_of(const struct task *t)
{
    return (struct shape){ .cpu_milli = t->cpu,
                           .memory = t->memory << 20,
                           .types = t->models,
                           .devices = task_shares(t) ? 0 : t->n,
                           .share = task_shares(t) ? t->milli : 0 };
}

static struct node_state state_of(const struct host *h)
{
    struct node_state s = {
        .cpu_milli = h->cpu, .memory = h->memory << 20, .kind = h->model, .n = (uint16_t)h->n
    };
    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t at = i;
        for (; at > 0 && s.free[at - 1] < h->gpu[i]; at--)
            s.free[at] = s.free[at - 1];
        s.free[at] = h->gpu[i];
    }
    return s;
}

static void enter(struct ours *o, const struct experiment *e, size_t host)
{
    struct node_state s = state_of(&e->hosts[host]);
    uint32_t state = potential_hold(o->potential, &s);
    if (state >= o->bound) {
        uint32_t bound = 2 * state + 64;
        o->nodes = mem_resize(o->nodes, bound * sizeof *o->nodes);
        o->putting = mem_resize(o->putting, bound * sizeof *o->putting);
        for (uint32_t i = o->bound; i < bound; i++)
            o->nodes[i] = 0;
        o->bound = bound;
    }
    o->state[host] = state;
    o->nodes[state]++;
}

static void *create(const struct experiment *e)
{
    struct ours *o = mem_new(sizeof *o);
    o->mix = mix_create();
    o->potential = potential_create();
    o->state = mem_new(e->trace->n_hosts * sizeof *o->state);
    for (size_t i = 0; i < e->trace->n_hosts; i++)
        enter(o, e, i);
    return o;
}

static void destroy(void *data)
{
    struct ours *o = data;
    mix_destroy(o->mix);
    potential_destroy(o->potential);
    free(o->state);
    free(o->nodes);
    free(o->putting);
    free(o);
}

/* Milli free of the device that the share would go to. */
static uint32_t room(const struct ours *o, uint32_t state)
{
    return potential_state(o->potential, state)->free[o->putting[state].slot];
}

static bool better(const struct ours *o, uint32_t state, uint32_t best, bool share)
{
    const struct putting *a = &o->putting[state], *b = &o->putting[best];
    return a->delta < b->delta || (a->delta == b->delta && share && room(o, state) > room(o, best));
}

static struct place choose(void *data, const struct experiment *e, const struct task *t)
{
    struct ours *o = data;
    struct place p = { .host = NO_HOST };
    struct shape s = shape_of(t);
    mix_add(o->mix, &s, 1);
    potential_learn(o->potential, o->mix);
    uint32_t shape = potential_shape(o->potential, &s), bound = potential_bound(o->potential);
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < bound; i++) {
        if (!o->nodes[i])
            continue;
        o->putting[i] = potential_put(o->potential, i, shape);
        if (o->putting[i].fits && (best == UINT32_MAX || better(o, i, best, s.share)))
            best = i;
    }
    if (best == UINT32_MAX)
        return p;
    for (p.host = 0;; p.host++) {
        uint32_t state = o->state[p.host];
        if (state == best || (o->putting[state].fits && !better(o, best, state, s.share)))
            break;
    }
    if (s.share)
        while (e->hosts[p.host].gpu[p.gpu] != room(o, o->state[p.host]))
            p.gpu++;
    return p;
}

static void placed(void *data, const struct experiment *e, size_t host)
{
    struct ours *o = data;
    uint32_t before = o->state[host];
    enter(o, e, host);
    o->nodes[before]--;
    potential_drop(o->potential, before);
}

static void work(void *data, uint64_t *pairs, uint64_t *states)
{
    struct potential_work w = potential_work(((struct ours *)data)->potential);
    *pairs = w.pairs;
    *states = w.states;
}

const struct policy policy_muster = { "muster", create, destroy, choose, placed, work };
