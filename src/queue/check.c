/* Do the shares of a tree of queues make sense: within each queue, within its parent, within the
 * cluster. Amount by amount: what a queue says nothing of is not counted there. */
#include "queue/tree.h"

#include "base/scan.h"

#include <stdio.h>
#include <string.h>

struct checking {
    struct queue_tree *tree;
    const struct entry *const *entries;
};

static uint64_t sure_of(const struct queue_tree *tree, size_t i, int resource)
{
    return queue_amount_of(&tree->specs[i].sure, resource);
}

static const struct portion *part_of(const struct portions *p, int resource)
{
    return resource == QUEUE_CPU ? &p->cpu : resource == QUEUE_MEMORY ? &p->memory : &p->gpu;
}

/* Thousandths of one percent of its parent that are guaranteed; 0: not said so. */
static uint64_t percent_of(const struct checking *c, size_t i, int resource)
{
    const struct portions *p = &c->entries[i]->guaranteed;
    struct portion part = portion_or_all(part_of(p, resource), p);
    return part.percent ? part.value : 0;
}

/* Is what the queue may have or is sure of a part of what the cluster has? */
static bool depends_on_nodes(const struct checking *c, size_t i, int resource)
{
    const struct entry *entry = c->entries[i];
    return entry->cells.n > 0 || percent_of(c, i, resource) ||
           portion_or_all(part_of(&entry->maximum, resource), &entry->maximum).percent;
}

static void check_one(const struct checking *c, size_t i)
{
    const struct queue_spec *spec = &c->tree->specs[i];
    char sure[64], most[64];
    for (int r = 0; r < QUEUE_AMOUNTS; r++) {
        uint64_t bound = queue_amount_of(&spec->most, r);
        if (sure_of(c->tree, i, r) <= bound)
            continue;
        queue_problem(c->tree, (struct queue_problem){
                                   .queue = spec->name,
                                   .field = "guaranteed",
                                   .of_nodes = depends_on_nodes(c, i, r),
                                   .what = arena_printf(
                                       c->tree->arena,
                                       "queue \"%.80s\" is guaranteed %s, and its maximum is %s",
                                       spec->name, queue_amount(sure, r, sure_of(c->tree, i, r)),
                                       queue_amount(most, r, bound)),
                                   .hint = "guaranteed as much as the maximum, or less" });
        return;
    }
}

/* What the queue and those below it are guaranteed: its own, or what its children are. */
static uint64_t claimed(const struct queue_tree *tree, size_t queue, int resource)
{
    uint64_t own = sure_of(tree, queue, resource), sum = 0;
    if (own)
        return own;
    for (size_t i = queue + 1; i < tree->n && tree->depths[i] > tree->depths[queue]; i++) {
        if (tree->specs[i].parent != queue)
            continue;
        uint64_t one = claimed(tree, i, resource);
        sum = sum > UINT64_MAX - one ? UINT64_MAX : sum + one;
    }
    return sum;
}

struct family { /* the queues below one, or below the cluster, and one amount */
    uint32_t parent;
    int resource;
    uint64_t percent, sum;
    size_t n, last; /* that claim some, and the last of them */
    bool of_nodes;
    char who[160];
};

static void count(const struct checking *c, struct family *f)
{
    char amount[64], percent[FMT_MAX];
    for (size_t i = 0; i < c->tree->n; i++) {
        uint64_t one = c->tree->specs[i].parent == f->parent ? claimed(c->tree, i, f->resource) : 0;
        if (!one)
            continue;
        uint64_t part = percent_of(c, i, f->resource);
        size_t used = strlen(f->who);
        f->percent += part;
        f->of_nodes = f->of_nodes || depends_on_nodes(c, i, f->resource);
        f->sum = f->sum > UINT64_MAX - one ? UINT64_MAX : f->sum + one;
        f->last = i;
        if (part)
            snprintf(amount, sizeof amount, "%s %%", fmt_milli(percent, part));
        else
            queue_amount(amount, f->resource, one);
        snprintf(f->who + used, sizeof f->who - used, "%s%.40s %s", f->n++ ? ", " : "",
                 c->tree->specs[i].name, amount);
    }
}

static const char *subject(const struct checking *c, const struct family *f)
{
    struct arena *arena = c->tree->arena;
    if (f->n == 1)
        return arena_printf(arena, "queue \"%.80s\" is", c->tree->specs[f->last].name);
    if (f->parent == QUEUE_ROOT)
        return "queues are";
    return arena_printf(arena, "the queues below \"%.80s\" are", c->tree->specs[f->parent].name);
}

static const char *together(const struct checking *c, const struct family *f)
{
    return f->n == 1 ? "" : arena_printf(c->tree->arena, " together (%s)", f->who);
}

/* What the family has to fit into, and how that is called; false: nothing bounds it here. */
static bool bound_of(const struct checking *c, const struct family *f, uint64_t *bound,
                     const char **called)
{
    struct arena *arena = c->tree->arena;
    char text[64];
    if (f->parent == QUEUE_ROOT) {
        *bound = queue_amount_of(&c->tree->total, f->resource);
        *called =
            arena_printf(arena, "the cluster has %s", queue_amount(text, f->resource, *bound));
        return true;
    }
    const struct queue_spec *up = &c->tree->specs[f->parent];
    uint64_t sure = queue_amount_of(&up->sure, f->resource);
    *bound = sure ? sure : queue_amount_of(&up->most, f->resource);
    *called =
        arena_printf(arena, "\"%.80s\" %s %s", up->name, sure ? "is guaranteed" : "has at most",
                     queue_amount(text, f->resource, *bound));
    return *bound != UINT64_MAX;
}

/* true: there was something to tell. */
static bool check_family(const struct checking *c, struct family f)
{
    char sum[64], percent[FMT_MAX];
    struct arena *arena = c->tree->arena;
    uint64_t bound;
    const char *called;
    static const char *const names[] = { "cpu", "memory", "gpu" };
    count(c, &f);
    if (f.percent > PORTION_WHOLE) {
        const char *whole = f.parent == QUEUE_ROOT
                                ? "the cluster"
                                : arena_printf(arena, "\"%.80s\"", c->tree->specs[f.parent].name);
        queue_problem(c->tree,
                      (struct queue_problem){
                          .queue = c->tree->specs[f.last].name,
                          .field = "guaranteed",
                          .family = true,
                          .what = arena_printf(arena, "%s guaranteed %s %% of the %s of %s%s",
                                               subject(c, &f), fmt_milli(percent, f.percent),
                                               names[f.resource], whole, together(c, &f)),
                          .hint = "100 % of it at most, together" });
        return true;
    }
    if (!bound_of(c, &f, &bound, &called) || f.sum <= bound)
        return false;
    queue_problem(c->tree, (struct queue_problem){
                               .queue = c->tree->specs[f.last].name,
                               .field = "guaranteed",
                               .family = true,
                               .of_nodes = f.of_nodes || f.parent == QUEUE_ROOT ||
                                           depends_on_nodes(c, f.parent, f.resource),
                               .what = arena_printf(
                                   arena, "%s guaranteed %s%s, and %s", subject(c, &f),
                                   queue_amount(sum, f.resource, f.sum), together(c, &f), called),
                               .hint = "less for one of them, or a maximum instead" });
    return true;
}

void queue_tree_check(struct queue_tree *tree, const struct entry *const *entries)
{
    const struct checking c = { .tree = tree, .entries = entries };
    for (size_t i = 0; i < tree->n; i++)
        check_one(&c, i);
    for (size_t i = 0; i <= tree->n; i++) {
        uint32_t parent = i == tree->n ? QUEUE_ROOT : (uint32_t)i;
        bool told = false;
        for (int r = QUEUE_AMOUNTS - 1; r >= 0 && !told; r--)
            told = check_family(&c, (struct family){ .parent = parent, .resource = r });
    }
}
