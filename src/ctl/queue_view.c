/* The queues as an answer: the tree with shares, what is used and borrowed, who waits and why.
 * Reads live jobs once and adds up the tree; changes nothing. */
#include "ctl/core.h"
#include "ctl/reasons.h"
#include "ctl/view_tables.h"
#include "ctl/views.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

struct sums { /* of one queue; used with everything below it, jobs only its own */
    struct vector used;
    uint64_t running, waiting, states[JOB_STATE_N];
    const struct live_job *first; /* of those that wait */
};
struct looking {
    struct ctl *ctl;
    struct arena *arena;
    const struct queue_tree *tree;
    struct sums *sums;
    struct reader reader;
    bool shared; /* something is guaranteed to somebody: what is not, is borrowed */
};

static struct text_node *amounts(struct arena *arena, const struct vector *v)
{
    struct text_node *map = text_map(arena, NULL, NULL);
    text_int(arena, map, "cpu_milli", (int64_t)v->cpu_milli);
    text_int(arena, map, "memory", (int64_t)v->memory);
    text_int(arena, map, "gpu_milli", (int64_t)v->gpu_milli);
    return map;
}

/* Only what bounds: absent is "any". */
static struct text_node *bounds(struct arena *arena, const struct vector *v)
{
    static const char *const names[] = { "cpu_milli", "memory", "gpu_milli" };
    struct text_node *map = NULL;
    for (int r = 0; r < QUEUE_AMOUNTS; r++) {
        uint64_t amount = queue_amount_of(v, r);
        if (amount == UINT64_MAX)
            continue;
        map = map ? map : text_map(arena, NULL, NULL);
        text_int(arena, map, names[r], (int64_t)amount);
    }
    return map;
}

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
    while (live_next(l->ctl->live, &cursor, &job)) {
        struct sums *own = &sums[queue_tree_position(l->tree, job->row.queue)];
        own->waiting += waits(job);
        own->states[job->row.state]++;
        own->running += job_state_holds(job->row.state);
        if (waits(job) && (!own->first || comes_before(job, own->first)))
            own->first = job;
    }
    for (size_t i = 0; i < queues_user_count(l->ctl); i++) {
        const struct queue_user user = queues_user_at(l->ctl, (uint32_t)i);
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

static struct text_node *states_tree(struct arena *arena, const struct sums *sums)
{
    struct text_node *map = text_map(arena, NULL, NULL);
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        if (!job_state_final((enum job_state)state))
            text_int(arena, map, job_state_word((enum job_state)state),
                     (int64_t)sums->states[state]);
    return map;
}

/* Its reason says what its roles are called. */
static struct text_node *first_tree(struct looking *l, const struct live_job *job)
{
    const struct sentence why = reason_of(&l->reader, job);
    char text[FMT_MAX];
    struct arena *arena = l->arena;
    struct text_node *map = text_map(arena, NULL, NULL);
    bool may = reader_may(&l->reader, &job->row);
    if (may)
        text_int(arena, map, "number", (int64_t)job->row.number);
    text_str(arena, map, "name", may ? job->row.name : HIDDEN_JOB);
    if (may)
        text_str(arena, map, "owner", job->row.owner);
    text_int(arena, map, "priority", job->row.priority);
    text_str(arena, map, "since", fmt_time(text, job->row.submitted_ms));
    text_int(arena, map, "since_ms", (int64_t)job->row.submitted_ms);
    if (may)
        text_str(arena, map, "reason", reader_text(&l->reader, &why));
    return map;
}

/* false: none of the user's jobs there is one that the reader may read. */
static bool count_users(const struct looking *l, size_t queue, const char *owner,
                        struct queue_user_view *view)
{
    size_t cursor = 0;
    struct live_job *job;
    bool known = l->reader.all || strcmp(owner, l->reader.name) == 0;
    while (live_next(l->ctl->live, &cursor, &job)) {
        if (strcmp(job->row.owner, owner) != 0 ||
            queue_tree_position(l->tree, job->row.queue) != queue)
            continue;
        known = known || reader_may(&l->reader, &job->row);
        view->waiting += waits(job);
        view->running += job_state_holds(job->row.state);
    }
    return known;
}

static struct text_node *users_tree(const struct looking *l, size_t queue)
{
    struct text_node *list = text_list(l->arena, NULL, NULL);
    struct queue_user_view rest = { .name = "other users" };
    struct vector rest_held = { 0 };
    uint64_t now = core_now(l->ctl);
    for (size_t i = 0; i < queues_user_count(l->ctl); i++) {
        const struct queue_user user = queues_user_at(l->ctl, (uint32_t)i);
        if (user.queue != queue)
            continue;
        struct queue_user_view view = { .name = user.owner,
                                        .usage = queues_usage(l->ctl, (uint32_t)i, now),
                                        .held = amounts(l->arena, &user.held),
                                        .cap = bounds(l->arena, &l->tree->specs[queue].user_most) };
        if (!count_users(l, queue, user.owner, &view)) {
            vector_add(&rest_held, &user.held);
            rest.usage += view.usage;
            rest.running += view.running;
            rest.waiting += view.waiting;
        } else if (view.usage || view.running || view.waiting) {
            view_put(l->arena, list, NULL, VIEW_QUEUE_USER, &view);
        }
    }
    rest.held = amounts(l->arena, &rest_held);
    if (rest.usage || rest.running || rest.waiting)
        view_put(l->arena, list, NULL, VIEW_QUEUE_USER, &rest);
    return list;
}

static void put_queue(struct looking *l, size_t i, struct text_node *list, bool users)
{
    const struct queue_spec *spec = &l->tree->specs[i];
    const struct sums *sums = &l->sums[i];
    const struct vector lent = borrowed(l, i), none = { 0 };
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
        .guaranteed = vector_over(&spec->sure, &none) ? amounts(l->arena, &spec->sure) : NULL,
        .maximum = bounds(l->arena, &spec->most),
        .user_maximum = bounds(l->arena, &spec->user_most),
        .used = amounts(l->arena, &sums->used),
        .borrowed = amounts(l->arena, &lent),
        .states = states_tree(l->arena, sums),
        .first = sums->first ? first_tree(l, sums->first) : NULL,
        .users = users ? users_tree(l, i) : NULL,
    };
    view_put(l->arena, list, NULL, VIEW_QUEUE, &view);
}

/* What is wrong with the tree, and guarantees that nodes which are lost or drained would have to
 * keep. */
static struct text_node *warnings(const struct looking *l)
{
    static const char *const back = "they would hold with all nodes up";
    struct text_node *list = text_list(l->arena, NULL, NULL);
    const struct queue_tree *tree = l->tree;
    const struct vector usable = queue_tree_usable(l->ctl->cluster);
    char sure[64], there[64];
    for (size_t i = 0; i < tree->n_problems; i++)
        text_str(l->arena, list, NULL, tree->problems[i].what);
    for (int r = QUEUE_AMOUNTS - 1; r >= 0; r--) {
        uint64_t sum = 0, all = queue_amount_of(&tree->total, r);
        for (size_t i = 0; i < tree->n; i++)
            if (tree->specs[i].parent == QUEUE_ROOT)
                sum += queue_amount_of(&tree->specs[i].sure, r);
        if (sum <= queue_amount_of(&usable, r) || sum > all)
            continue;
        text_str(l->arena, list, NULL,
                 arena_printf(l->arena, "queues are guaranteed %s, and usable nodes have %s: %s",
                              queue_amount(sure, r, sum),
                              queue_amount(there, r, queue_amount_of(&usable, r)), back));
    }
    return list->count ? list : NULL;
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

struct text_node *ctl_queues_tree(struct ctl *ctl, struct arena *arena, const char *reader,
                                  const char *name, struct err *err)
{
    struct looking l = { .ctl = ctl,
                         .arena = arena,
                         .tree = queues_tree(ctl),
                         .reader = reader_of(ctl, arena, reader) };
    const struct vector none = { 0 };
    uint32_t only = UINT32_MAX;
    if (name && find(&l, name, &only, err))
        return NULL;
    for (size_t i = 0; i < l.tree->n; i++)
        l.shared = l.shared || vector_over(&l.tree->specs[i].sure, &none);
    l.sums = add_up(&l);
    struct text_node *root = text_map(arena, NULL, NULL), *list = text_list(arena, root, "queues");
    for (size_t i = 0; i < l.tree->n; i++)
        if (only == UINT32_MAX || only == i)
            put_queue(&l, i, list, only == i);
    text_copy(arena, root, "total", amounts(arena, &l.tree->total));
    const struct text_node *wrong = warnings(&l);
    if (wrong)
        text_copy(arena, root, "warnings", wrong);
    return root;
}
