/* The queues as an answer: the tree with shares, what is used and borrowed, who waits and why.
 * Reads live jobs once and adds up the tree; changes nothing. */
#include "answer/cluster_views.h"

#include "ctl/contents.h"
#include "ctl/ctl.h"
#include "ctl/wait_texts.h"
#include "live/live.h"
#include "queue/queues.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

struct sums { /* of one queue; used with everything below it, jobs only its own */
    struct vector used;
    uint64_t running, waiting, states[JOB_STATE_N];
    const struct live_job *first; /* of those that wait */
};
struct looking {
    struct contents core;
    struct arena *arena;
    const struct queue_tree *tree;
    struct sums *sums;
    struct reader reader;
    bool shared; /* something is guaranteed to somebody: what is not, is borrowed */
};

static bool comes_before(const struct live_job *a, const struct live_job *b)
{
    if (a->row.priority != b->row.priority)
        return a->row.priority > b->row.priority;
    return a->row.id < b->row.id;
}

static bool waits(const struct live_job *job)
{
    return job->row.state == JOB_QUEUED;
}

static struct sums *add_up(struct looking *l)
{
    struct sums *sums = ARENA_ARRAY(l->arena, l->tree->n, struct sums);
    size_t cursor = 0;
    struct live_job *job;
    while (live_next(l->core.live, &cursor, &job)) {
        struct sums *own = &sums[queue_tree_position(l->tree, job->row.queue)];
        own->waiting += waits(job);
        own->states[job->row.state]++;
        own->running += job_state_holds(job->row.state);
        if (waits(job) && (!own->first || comes_before(job, own->first)))
            own->first = job;
    }
    for (size_t i = 0; i < queues_user_count(l->core.queues); i++) {
        const struct queue_user user = queues_user_at(l->core.queues, (uint32_t)i);
        vector_add(&sums[user.queue].used, &user.held);
    }
    for (size_t i = l->tree->n; i-- > 0;) /* children come after their parents */
        if (l->tree->specs[i].parent != QUEUE_ROOT)
            vector_add(&sums[l->tree->specs[i].parent].used, &sums[i].used);
    return sums;
}

/* What is used above what this queue and those above it are sure of; of an amount that none of them
 * says anything of: all. */
static struct vector borrowed(const struct looking *l, size_t queue)
{
    struct vector out = { 0 };
    for (int r = 0; l->shared && r < QUEUE_AMOUNTS; r++) {
        uint64_t least = queue_amount_of(&l->sums[queue].used, r);
        for (uint32_t at = (uint32_t)queue; at != QUEUE_ROOT; at = l->tree->specs[at].parent) {
            uint64_t sure = queue_amount_of(&l->tree->specs[at].sure, r);
            uint64_t used = queue_amount_of(&l->sums[at].used, r);
            uint64_t over = used > sure ? used - sure : 0;
            if (sure && over < least)
                least = over;
        }
        *queue_part(&out, r) = least;
    }
    return out;
}

/* Its reason says what its roles are called. */
static struct queue_head *first_of(struct looking *l, const struct live_job *job)
{
    struct queue_head *first = ARENA_NEW(l->arena, struct queue_head);
    const struct sentence why = reason_of(l->core.ctl, &l->reader, job);
    *first = (struct queue_head){ .name = HIDDEN_JOB,
                                  .priority = job->row.priority,
                                  .since_ms = job->row.submitted_ms };
    if (reader_may(&l->reader, &job->row)) {
        first->number = job->row.number;
        first->name = job->row.name;
        first->owner = job->row.owner;
        first->reason = reader_text(&l->reader, &why);
    }
    return first;
}

/* false: none of the user's jobs there is one that the reader may read. */
static bool count_users(const struct looking *l, size_t queue, const char *owner,
                        struct queue_user_view *view)
{
    size_t cursor = 0;
    struct live_job *job;
    bool known = l->reader.all || strcmp(owner, l->reader.name) == 0;
    while (live_next(l->core.live, &cursor, &job)) {
        if (strcmp(job->row.owner, owner) != 0 ||
            queue_tree_position(l->tree, job->row.queue) != queue)
            continue;
        known = known || reader_may(&l->reader, &job->row);
        view->waiting += waits(job);
        view->running += job_state_holds(job->row.state);
    }
    return known;
}

static struct queue_user_list users_of(const struct looking *l, size_t queue)
{
    size_t n = queues_user_count(l->core.queues);
    struct queue_user_list list = { .at = ARENA_ARRAY(l->arena, n + 1, struct queue_user_view) };
    struct queue_user_view rest = { .name = "other users", .cap = VECTOR_ANY };
    uint64_t now = ctl_now(l->core.ctl);
    for (size_t i = 0; i < n; i++) {
        const struct queue_user user = queues_user_at(l->core.queues, (uint32_t)i);
        if (user.queue != queue)
            continue;
        struct queue_user_view view = { .name = user.owner,
                                        .usage = queues_usage(l->core.queues, (uint32_t)i, now),
                                        .held = user.held,
                                        .cap = l->tree->specs[queue].user_most };
        if (!count_users(l, queue, user.owner, &view)) {
            vector_add(&rest.held, &user.held);
            rest.usage += view.usage;
            rest.running += view.running;
            rest.waiting += view.waiting;
        } else if (view.usage || view.running || view.waiting) {
            list.at[list.n++] = view;
        }
    }
    if (rest.usage || rest.running || rest.waiting)
        list.at[list.n++] = rest;
    return list;
}

static struct queue_view queue_of(struct looking *l, size_t i, bool users)
{
    const struct queue_spec *spec = &l->tree->specs[i];
    const struct sums *sums = &l->sums[i];
    struct queue_view view = {
        .name = spec->name,
        .kind = entry_word(l->tree->kinds[i]),
        .parent = spec->parent == QUEUE_ROOT ? NULL : l->tree->specs[spec->parent].name,
        .strategy = queue_strategy_word(spec->strategy),
        .depth = l->tree->depths[i],
        .weight = spec->weight,
        .reclaim = !spec->keeps,
        .running = sums->running,
        .waiting = sums->waiting,
        .guaranteed = spec->sure,
        .maximum = spec->most,
        .user_maximum = spec->user_most,
        .used = sums->used,
        .borrowed = borrowed(l, i),
        .first = sums->first ? first_of(l, sums->first) : NULL,
    };
    memcpy(view.states, sums->states, sizeof view.states);
    if (users)
        view.users = users_of(l, i);
    return view;
}

/* What is wrong with the tree, and guarantees that nodes which are lost or drained would have to
 * keep. */
static struct words warnings(const struct looking *l)
{
    static const char *const back = "they would hold with all nodes up";
    const struct queue_tree *tree = l->tree;
    struct words list = { .at = ARENA_ARRAY(l->arena, tree->n_problems + QUEUE_AMOUNTS,
                                            const char *) };
    const struct vector usable = queue_tree_usable(l->core.cluster);
    char sure[64], there[64];
    for (size_t i = 0; i < tree->n_problems; i++)
        list.at[list.n++] = arena_strdup(l->arena, tree->problems[i].what);
    for (int r = QUEUE_AMOUNTS - 1; r >= 0; r--) {
        uint64_t sum = 0, all = queue_amount_of(&tree->total, r);
        for (size_t i = 0; i < tree->n; i++)
            if (tree->specs[i].parent == QUEUE_ROOT)
                sum += queue_amount_of(&tree->specs[i].sure, r);
        if (sum <= queue_amount_of(&usable, r) || sum > all)
            continue;
        list.at[list.n++] = arena_printf(
            l->arena, "queues are guaranteed %s, and usable nodes have %s: %s",
            queue_amount(sure, r, sum), queue_amount(there, r, queue_amount_of(&usable, r)), back);
    }
    return list;
}

static int find(const struct looking *l, const char *name, uint32_t *at, struct err *err)
{
    const char **names = ARENA_ARRAY(l->arena, l->tree->n, const char *);
    *at = queue_tree_position(l->tree, name);
    if (strcmp(l->tree->specs[*at].name, name) == 0)
        return 0;
    for (size_t i = 0; i < l->tree->n; i++)
        names[i] = l->tree->specs[i].name;
    const char *near = scan_nearest(name, names, l->tree->n);
    err_set(err, ERR_NOT_FOUND, "no queue \"%.100s\"", name);
    return near ? err_hint(err, "%s", near) : err_remedy(err, REMEDY_LIST_QUEUES);
}

int answer_queues_view(struct ctl *ctl, struct arena *arena, const char *reader, const char *name,
                       struct queues_view *view, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct looking l = { .core = core,
                         .arena = arena,
                         .tree = queues_tree(core.queues),
                         .reader = reader_of(core.accounts, arena, reader) };
    const struct vector none = { 0 };
    uint32_t only = UINT32_MAX;
    if (name && find(&l, name, &only, err))
        return -1;
    for (size_t i = 0; i < l.tree->n; i++)
        l.shared = l.shared || vector_over(&l.tree->specs[i].sure, &none);
    l.sums = add_up(&l);
    *view = (struct queues_view){ .total = l.tree->total, .warnings = warnings(&l) };
    struct queue_list *list = &view->queues;
    list->at = ARENA_ARRAY(arena, l.tree->n, struct queue_view);
    for (size_t i = 0; i < l.tree->n; i++)
        if (only == UINT32_MAX || only == i)
            list->at[list->n++] = queue_of(&l, i, only == i);
    return 0;
}
