/* What the queues of a job and its user have and may have, and the same as the four checks of
 * PAI-DLC's answer to why a job is queued (paistudio, quotas/{quota}/workloads/{job}/diagnosis). */
#include "ctl/explain.h"

#include "ctl/core.h"

static void put_amounts(struct arena *arena, struct text_node *parent, const char *key,
                        const struct vector *v, bool bounds)
{
    static const char *const names[] = { "cpu_milli", "memory", "gpu_milli" };
    struct text_node *map = NULL;
    for (int r = 0; r < QUEUE_AMOUNTS; r++) {
        uint64_t amount = queue_amount_of(v, r);
        if (bounds && amount == UINT64_MAX)
            continue;
        map = map ? map : text_map(arena, parent, key);
        text_int(arena, map, names[r], (int64_t)amount);
    }
}

static struct text_node *quota_tree(struct explain *e)
{
    const struct vector none = { 0 };
    struct text_node *list = text_list(e->arena, NULL, NULL);
    for (uint32_t at = e->as.queue; at < e->snapshot.n_queues; at = e->snapshot.queues[at].parent) {
        const struct queue_spec *queue = &e->snapshot.queues[at];
        struct text_node *one = text_map(e->arena, list, NULL);
        text_str(e->arena, one, "queue", queue->name);
        put_amounts(e->arena, one, "used", &e->when.used[at], false);
        if (vector_over(&queue->sure, &none))
            put_amounts(e->arena, one, "guaranteed", &queue->sure, false);
        put_amounts(e->arena, one, "maximum", &queue->most, true);
    }
    struct text_node *user = text_map(e->arena, list, NULL);
    text_str(e->arena, user, "user", e->owner);
    put_amounts(e->arena, user, "used", &e->when.user_used, false);
    if (e->as.queue < e->snapshot.n_queues)
        put_amounts(e->arena, user, "maximum", &e->snapshot.queues[e->as.queue].user_most, true);
    return list;
}

/* ---- the four checks ---- */

struct limit {
    const char *name;
    const struct vector *used, *most;
};

static struct text_node *put_check(struct explain *e, struct text_node *list,
                                   const struct limit *limit, const struct vector *asked)
{
    struct vector with = *limit->used;
    struct text_node *one = text_map(e->arena, list, NULL);
    vector_add(&with, asked);
    text_str(e->arena, one, "name", limit->name);
    text_str(e->arena, one, "status", vector_over(&with, limit->most) ? "Exceeded" : "Passed");
    struct text_node *over = text_list(e->arena, one, "exceed_resources");
    static const char *const names[] = { "cpu", "memory", "gpu" };
    for (int r = 0; r < QUEUE_AMOUNTS; r++)
        if (queue_amount_of(&with, r) > queue_amount_of(limit->most, r) &&
            queue_amount_of(asked, r) > 0)
            text_str(e->arena, over, NULL, names[r]);
    put_amounts(e->arena, one, "used", limit->used, false);
    put_amounts(e->arena, one, "limit", limit->most, true);
    return one;
}

/* The queue above that is exceeded, or that is nearest. */
static uint32_t ancestor(const struct explain *e, const struct vector *asked)
{
    const struct queue_spec *queues = e->snapshot.queues;
    uint32_t nearest = queues[e->as.queue].parent;
    for (uint32_t at = nearest; at < e->snapshot.n_queues; at = queues[at].parent) {
        struct vector with = e->when.used[at];
        vector_add(&with, asked);
        if (vector_over(&with, &queues[at].most))
            return at;
    }
    return nearest;
}

static struct text_node *checks_tree(struct explain *e)
{
    const struct vector none = { 0 }, any = VECTOR_ANY, asked = vector_of_job(e->spec);
    const struct queue_spec *own = &e->snapshot.queues[e->as.queue];
    uint32_t above = ancestor(e, &asked);
    const struct limit limits[] = {
        { "SelfQuotaLimit", &e->when.used[e->as.queue], &own->most },
        { "AncestorQuotaLimit", above < e->snapshot.n_queues ? &e->when.used[above] : &none,
          above < e->snapshot.n_queues ? &e->snapshot.queues[above].most : &any },
        { "UserLimit", &e->when.user_used, &own->user_most },
    };
    struct text_node *list = text_list(e->arena, NULL, NULL);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct text_node *one = put_check(e, list, &limits[i], &asked);
        if (i == 1 && above < e->snapshot.n_queues)
            text_str(e->arena, one, "queue", e->snapshot.queues[above].name);
    }
    enum wait_why why = e->when.reason.why;
    struct text_node *one = text_map(e->arena, list, NULL);
    text_str(e->arena, one, "name", "QueueStrategyLimit");
    text_str(e->arena, one, "status",
             why == WAIT_AHEAD || why == WAIT_RESERVED ? "Exceeded" : "Passed");
    text_list(e->arena, one, "exceed_resources");
    text_str(e->arena, one, "strategy", queue_strategy_word(own->strategy));
    text_int(e->arena, one, "ahead", e->when.ahead);
    return list;
}

void shares_put(struct explain *e, struct explain_view *view)
{
    view->quota = quota_tree(e);
    view->checks = checks_tree(e);
}
