/* What the queues of a job and its user have and may have, and the same as the four checks of
 * PAI-DLC's answer to why a job is queued (paistudio, quotas/{quota}/workloads/{job}/diagnosis). */
#include "explain/parts.h"

#include "queue/tree.h"

static struct share_list shares_of(struct explain *e)
{
    const struct queue_spec *queues = e->snapshot.queues;
    struct share_list list = { .at = ARENA_ARRAY(e->arena, e->snapshot.n_queues + 1,
                                                 struct share_view) };
    for (uint32_t at = e->as.queue; at < e->snapshot.n_queues; at = queues[at].parent)
        list.at[list.n++] = (struct share_view){ .queue = queues[at].name,
                                                 .used = e->when.used[at],
                                                 .guaranteed = queues[at].sure,
                                                 .maximum = queues[at].most };
    list.at[list.n++] = (struct share_view){ .user = e->owner,
                                             .used = e->when.user_used,
                                             .maximum = queues[e->as.queue].user_most };
    return list;
}

/* ---- the four checks ---- */

static bool goes_over(const struct vector *with, const struct vector *asked,
                      const struct vector *limit, int resource)
{
    return queue_amount_of(with, resource) > queue_amount_of(limit, resource) &&
           queue_amount_of(asked, resource) > 0;
}

static struct limit_check check_of(const struct vector *used, const struct vector *limit,
                                   const struct vector *asked)
{
    struct vector with = *used;
    vector_add(&with, asked);
    return (struct limit_check){ .exceeded = vector_over(&with, limit) != NULL,
                                 .cpu = goes_over(&with, asked, limit, QUEUE_CPU),
                                 .memory = goes_over(&with, asked, limit, QUEUE_MEMORY),
                                 .gpu = goes_over(&with, asked, limit, QUEUE_GPU),
                                 .used = *used,
                                 .limit = *limit };
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

static const struct checks_view *checks_of(struct explain *e)
{
    const struct vector none = { 0 }, any = VECTOR_ANY, asked = vector_of_job(e->spec);
    const struct queue_spec *queues = e->snapshot.queues, *own = &queues[e->as.queue];
    uint32_t above = ancestor(e, &asked);
    bool is_below = above < e->snapshot.n_queues;
    enum wait_why why = e->when.reason.why;
    struct checks_view *view = ARENA_NEW(e->arena, struct checks_view);
    *view = (struct checks_view){ .blocked = why == WAIT_AHEAD || why == WAIT_RESERVED,
                                  .strategy = own->strategy,
                                  .ahead = e->when.ahead };
    view->limits[CHECK_QUEUE] = check_of(&e->when.used[e->as.queue], &own->most, &asked);
    view->limits[CHECK_ABOVE] = check_of(is_below ? &e->when.used[above] : &none,
                                         is_below ? &queues[above].most : &any, &asked);
    view->limits[CHECK_ABOVE].queue = is_below ? queues[above].name : NULL;
    view->limits[CHECK_USER] = check_of(&e->when.user_used, &own->user_most, &asked);
    return view;
}

void shares_put(struct explain *e, struct explain_view *view)
{
    view->quota = shares_of(e);
    view->checks = checks_of(e);
}
