/* Nothing is kept here: which engine has a node is asked anew with every call. A run whose node has
 * left its engine is still ended by a stop, which goes to both. */
#include "engine/pair/pair.h"

#include "base/mem.h"

#include <stdlib.h>

struct engine_pair {
    struct engine base; /* first */
    struct pair_config config;
};

static struct engine_pair *pair_of(struct engine *e)
{
    return (struct engine_pair *)(void *)e;
}

static struct engine *engine_of(struct engine *e, const char *node)
{
    const struct pair_config *c = &pair_of(e)->config;
    return c->other_has(c->other, node) ? c->other : c->first;
}

static void on_fact(void *arg, const struct engine_fact *fact)
{
    const struct engine_pair *s = arg;
    s->base.sink.fact(s->base.sink.arg, fact);
}

static int pair_start(struct engine *e, const struct launch *launch, struct err *err)
{
    struct engine *to = engine_of(e, launch->node);
    return to->ops->start(to, launch, err);
}

/* A node may have left its engine since: each ends what it has. */
static int pair_stop(struct engine *e, struct generation g, const struct task_ref *task,
                     enum stop_how how, enum end_origin why, struct err *err)
{
    const struct pair_config *c = &pair_of(e)->config;
    int first = c->first->ops->stop(c->first, g, task, how, why, err);
    int other = c->other->ops->stop(c->other, g, task, how, why, err);
    return first < 0 || other < 0 ? -1 : 0;
}

static void pair_ack(struct engine *e, struct generation g, const char *node, uint64_t seq)
{
    struct engine *to = engine_of(e, node);
    to->ops->ack(to, g, node, seq);
}

static int pair_recover(struct engine *e, const struct engine_agent *known, size_t n,
                        struct err *err)
{
    const struct pair_config *c = &pair_of(e)->config;
    struct engine_agent *parted = mem_new((n ? n : 1) * sizeof *parted);
    size_t firsts = 0, others = 0;
    for (size_t i = 0; i < n; i++) /* those of the other from the end */
        if (engine_of(e, known[i].node) == c->first)
            parted[firsts++] = known[i];
        else
            parted[n - ++others] = known[i];
    int rc = c->first->ops->recover(c->first, parted, firsts, err);
    if (rc == 0)
        rc = c->other->ops->recover(c->other, parted + firsts, others, err);
    free(parted);
    return rc;
}

static int pair_leave(struct engine *e, const char *dir, struct engine_stranger *out)
{
    struct engine *first = pair_of(e)->config.first;
    return first->ops->leave ? first->ops->leave(first, dir, out) : 0;
}

static int pair_end(struct engine *e, const char *dir, struct engine_stranger *out, struct err *err)
{
    struct engine *first = pair_of(e)->config.first;
    return first->ops->end ? first->ops->end(first, dir, out, err) : 0;
}

static int pair_exec(struct engine *e, const struct engine_exec *exec, struct err *err)
{
    struct engine *to = engine_of(e, exec->node);
    return to->ops->exec(to, exec, err);
}

static int cannot(const char *node, struct err *err)
{
    return err_set(err, ERR_CANNOT, "the engine of %s cannot do that", node);
}

static int pair_attach(struct engine *e, const struct engine_attach *attach, struct err *err)
{
    struct engine *to = engine_of(e, attach->node);
    return to->ops->attach ? to->ops->attach(to, attach, err) : cannot(attach->node, err);
}

static int pair_signal(struct engine *e, const struct engine_signal *ask, struct err *err)
{
    struct engine *to = engine_of(e, ask->node);
    return to->ops->signal ? to->ops->signal(to, ask, err) : cannot(ask->node, err);
}

static void pair_secrets(struct engine *e, const struct engine_secrets *secrets)
{
    struct engine *to = engine_of(e, secrets->node);
    if (to->ops->secrets)
        to->ops->secrets(to, secrets);
}

static void pair_tell_launcher(struct engine *e, struct generation g, const char *node,
                               uint32_t channel, const void *bytes, size_t len)
{
    struct engine *to = engine_of(e, node);
    if (to->ops->tell_launcher)
        to->ops->tell_launcher(to, g, node, channel, bytes, len);
}

static int pair_find_process(struct engine *e, uint32_t pid, struct generation *of)
{
    struct engine *first = pair_of(e)->config.first;
    return first->ops->find_process ? first->ops->find_process(first, pid, of) : 0;
}

static size_t pair_room(const struct engine *e, size_t *all)
{
    const struct engine *first = ((const struct engine_pair *)(const void *)e)->config.first;
    *all = SIZE_MAX;
    return first->ops->room ? first->ops->room(first, all) : SIZE_MAX;
}

static unsigned pair_caps(const struct engine *e)
{
    const struct pair_config *c = &((const struct engine_pair *)(const void *)e)->config;
    const unsigned first = c->first->ops->caps(c->first), other = c->other->ops->caps(c->other);
    return (first & other) | ((first | other) & ENGINE_ALLOCATES);
}

static void pair_destroy(struct engine *e)
{
    struct engine_pair *s = pair_of(e);
    s->config.first->ops->destroy(s->config.first);
    s->config.other->ops->destroy(s->config.other);
    free(s);
}

static const struct engine_ops pair_ops = {
    .name = "several",
    .start = pair_start,
    .stop = pair_stop,
    .ack = pair_ack,
    .recover = pair_recover,
    .leave = pair_leave,
    .end = pair_end,
    .exec = pair_exec,
    .attach = pair_attach,
    .signal = pair_signal,
    .secrets = pair_secrets,
    .tell_launcher = pair_tell_launcher,
    .find_process = pair_find_process,
    .room = pair_room,
    .caps = pair_caps,
    .destroy = pair_destroy,
};

struct engine *pair_create(const struct pair_config *config)
{
    struct engine_pair *s = mem_new(sizeof *s);
    s->base.ops = &pair_ops;
    s->config = *config;
    config->first->sink = config->other->sink = (struct engine_sink){ .fact = on_fact, .arg = s };
    return &s->base;
}
