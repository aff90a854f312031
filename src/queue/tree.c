/* From declarations to a tree with amounts: parents are found, circles cut, portions made amounts
 * of this cluster. Everything that is wrong is reported; what is left makes sense as a tree. */
#include "queue/tree.h"

#include "base/mem.h"
#include "base/scan.h"

#include <stdio.h>
#include <string.h>

enum { PROBLEMS_MAX = 64, LEVELS_MAX = 64 };

/* ---- amounts ---- */

uint64_t *queue_part(struct vector *v, int resource)
{
    return resource == QUEUE_CPU      ? &v->cpu_milli
           : resource == QUEUE_MEMORY ? &v->memory
                                      : &v->gpu_milli;
}

int queue_resource(const char *name)
{
    return strcmp(name, "gpu") == 0   ? QUEUE_GPU
           : strcmp(name, "cpu") == 0 ? QUEUE_CPU
                                      : QUEUE_MEMORY;
}

uint64_t queue_amount_of(const struct vector *v, int resource)
{
    struct vector copy = *v;
    return *queue_part(&copy, resource);
}

const char *queue_amount(char out[64], int resource, uint64_t amount)
{
    char number[FMT_MAX];
    if (resource == QUEUE_MEMORY)
        snprintf(out, 64, "%s of memory", fmt_bytes(number, amount));
    else
        snprintf(out, 64, "%s %s", fmt_milli(number, amount),
                 resource == QUEUE_CPU ? "cpu" : "gpu");
    return out;
}

static struct vector of_node(const struct node_spec *spec)
{
    return (struct vector){ .cpu_milli = spec->cpu_milli,
                            .memory = spec->memory,
                            .gpu_milli = 1000ull * spec->gpus };
}

static struct vector sum_nodes(const struct cluster *c, bool usable)
{
    struct vector all = { 0 };
    for (uint32_t i = 0; i < cluster_count(c); i++) {
        const struct node_view node = cluster_node(c, i);
        const struct vector one = of_node(node.spec);
        if (!usable || (node.up && !node.drained))
            vector_add(&all, &one);
    }
    return all;
}

struct vector queue_tree_usable(const struct cluster *c)
{
    return sum_nodes(c, true);
}

void queue_problem(struct queue_tree *tree, struct queue_problem problem)
{
    if (!tree->problems)
        tree->problems = ARENA_ARRAY(tree->arena, PROBLEMS_MAX, struct queue_problem);
    if (tree->n_problems < PROBLEMS_MAX)
        tree->problems[tree->n_problems++] = problem;
}

/* ---- which queues there are ---- */

struct draft_entry { /* before the order is known */
    const struct entry *entry;
    size_t parent; /* SIZE_MAX: none */
    bool placed;
};
struct draft_entries {
    struct draft_entry *at;
    size_t n;
};

static size_t find(const struct draft_entries *plots, const char *name)
{
    for (size_t i = 0; i < plots->n; i++)
        if (strcmp(plots->at[i].entry->name, name) == 0)
            return i;
    return SIZE_MAX;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct draft_entry *)a)->entry->name,
                  ((const struct draft_entry *)b)->entry->name);
}

/* Quotas, and virtual clusters of other names. */
static struct draft_entries collect(struct arena *arena, const struct catalogue *c)
{
    static const struct entry whole = { .kind = ENTRY_QUOTA, .name = "default" };
    size_t n[2];
    const struct entry **quotas = catalogue_list(c, arena, ENTRY_QUOTA, &n[0]);
    const struct entry **clusters = catalogue_list(c, arena, ENTRY_VIRTUAL_CLUSTER, &n[1]);
    struct draft_entries plots = { .at = ARENA_ARRAY(arena, n[0] + n[1] + 1, struct draft_entry) };
    for (size_t i = 0; i < n[0]; i++)
        plots.at[plots.n++] = (struct draft_entry){ .entry = quotas[i] };
    for (size_t i = 0; i < n[1]; i++)
        if (!catalogue_find(c, ENTRY_QUOTA, clusters[i]->name))
            plots.at[plots.n++] = (struct draft_entry){ .entry = clusters[i] };
    if (find(&plots, "default") == SIZE_MAX)
        plots.at[plots.n++] = (struct draft_entry){ .entry = &whole };
    qsort(plots.at, plots.n, sizeof *plots.at, by_name);
    return plots;
}

static const char *near_queue(struct arena *arena, const struct draft_entries *plots,
                              const char *name)
{
    const char **names = ARENA_ARRAY(arena, plots->n, const char *);
    for (size_t i = 0; i < plots->n; i++)
        names[i] = plots->at[i].entry->name;
    const char *near = scan_nearest(name, names, plots->n);
    return near ? near : "the name of a queue that is declared";
}

static void find_parents(struct queue_tree *tree, struct draft_entries *plots)
{
    for (size_t i = 0; i < plots->n; i++) {
        const struct entry *entry = plots->at[i].entry;
        plots->at[i].parent = entry->parent ? find(plots, entry->parent) : SIZE_MAX;
        if (entry->parent && plots->at[i].parent == SIZE_MAX)
            queue_problem(tree, (struct queue_problem){
                                    .queue = entry->name,
                                    .field = "parent",
                                    .what = arena_printf(tree->arena,
                                                         "queue \"%.80s\": its parent \"%.80s\" is "
                                                         "not known here",
                                                         entry->name, entry->parent),
                                    .hint = near_queue(tree->arena, plots, entry->parent) });
    }
}

/* Each circle is told once, and cut at the first of it in the order of names. */
static void cut_circles(struct queue_tree *tree, struct draft_entries *plots)
{
    for (size_t i = 0; i < plots->n; i++) {
        char way[200] = "";
        size_t at = plots->at[i].parent, steps = 0;
        for (; at != SIZE_MAX && at != i && steps < plots->n; steps++) {
            size_t used = strlen(way);
            snprintf(way + used, sizeof way - used, "%.60s, ", plots->at[at].entry->name);
            at = plots->at[at].parent;
        }
        if (at != i)
            continue;
        const char *name = plots->at[i].entry->name;
        plots->at[i].parent = SIZE_MAX;
        queue_problem(tree, (struct queue_problem){
                                .queue = name,
                                .field = "parent",
                                .what = arena_printf(tree->arena,
                                                     "queue \"%.80s\" is below itself: %.60s, %s%s",
                                                     name, name, way, name),
                                .hint = "another parent for one of them, or none" });
    }
}

/* ---- shares in amounts ---- */

struct level { /* a kind of cell: nodes with equal amounts, or groups of them */
    struct vector amounts;
    uint64_t count;
};

static int compare(const struct vector *a, const struct vector *b)
{
    if (a->gpu_milli != b->gpu_milli)
        return a->gpu_milli < b->gpu_milli ? -1 : 1;
    if (a->cpu_milli != b->cpu_milli)
        return a->cpu_milli < b->cpu_milli ? -1 : 1;
    return a->memory == b->memory ? 0 : a->memory < b->memory ? -1 : 1;
}

static int largest_first(const void *a, const void *b)
{
    return -compare(&((const struct level *)a)->amounts, &((const struct level *)b)->amounts);
}

/* What each cell of the level has: a node, or all nodes with the same label; one array of single
 * cells, largest first. */
static size_t cells_of(struct arena *arena, const struct cluster *c, const char *label,
                       struct level **out)
{
    uint32_t nodes = cluster_count(c);
    struct level *cells = ARENA_ARRAY(arena, nodes, struct level);
    struct string_map *groups = string_map_create();
    size_t n = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        const struct node_spec *spec = cluster_node(c, i).spec;
        const struct vector one = of_node(spec);
        const char *value = label ? pairs_get(&spec->labels, label) : NULL;
        if (label && !value)
            continue;
        struct level *cell = value ? string_map_get(groups, value) : NULL;
        if (!cell)
            cell = &cells[n++];
        if (value)
            string_map_set(groups, value, cell);
        vector_add(&cell->amounts, &one);
    }
    string_map_destroy(groups);
    if (n)
        qsort(cells, n, sizeof *cells, largest_first);
    *out = cells;
    return n;
}

static bool is_level(const char *name, const struct words *topology)
{
    for (size_t i = 0; topology && i < topology->n; i++)
        if (strcmp(topology->at[i], name) == 0)
            return true;
    return strcmp(name, "node") == 0;
}

static void no_level(struct queue_tree *tree, const char *queue, const char *level,
                     const struct words *topology)
{
    char known[160] = "node";
    for (size_t i = 0; topology && i < topology->n; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %.40s", topology->at[i]);
    }
    queue_problem(tree,
                  (struct queue_problem){
                      .queue = queue,
                      .field = "cells",
                      .what = arena_printf(tree->arena,
                                           "queue \"%.80s\": cells of \"%.60s\", which is no "
                                           "level of this cluster",
                                           queue, level),
                      .hint = arena_printf(tree->arena, "%s; or the setting topology", known) });
}

/* So many of the largest equal cells that there are so many of; when there are too few, of the
 * kind that there are most of. */
static void add_cells(struct queue_tree *tree, const struct entry *entry, const struct cluster *c,
                      const struct amount *cell, struct vector *sum)
{
    struct level *cells;
    uint64_t wanted = cell->milli / 1000, most = 0;
    struct vector best = { 0 };
    size_t n =
        cells_of(tree->arena, c, strcmp(cell->name, "node") == 0 ? NULL : cell->name, &cells);
    for (size_t i = 0, end; i < n && most < wanted; i = end) {
        for (end = i + 1; end < n && compare(&cells[i].amounts, &cells[end].amounts) == 0;)
            end++;
        if (end - i <= most)
            continue;
        most = end - i;
        best = cells[i].amounts;
    }
    if (most < wanted)
        queue_problem(tree,
                      (struct queue_problem){
                          .queue = entry->name,
                          .field = "cells",
                          .of_nodes = true,
                          .what = arena_printf(tree->arena,
                                               "queue \"%.80s\": %llu equal cells of %.60s are "
                                               "guaranteed, and the cluster has %llu",
                                               entry->name, (unsigned long long)wanted, cell->name,
                                               (unsigned long long)most),
                          .hint = arena_printf(tree->arena, "cells: {%.60s: %llu}", cell->name,
                                               (unsigned long long)most) });
    uint64_t taken = wanted < most ? wanted : most;
    sum->cpu_milli += best.cpu_milli * taken;
    sum->memory += best.memory * taken;
    sum->gpu_milli += best.gpu_milli * taken;
}

/* What a percentage below this queue is a part of: what it is sure of, else the most it may have,
 * else the same of its parent. */
static uint64_t whole_of(const struct queue_tree *tree, uint32_t queue, int resource, bool most)
{
    for (uint32_t at = queue; at != QUEUE_ROOT; at = tree->specs[at].parent) {
        uint64_t sure = queue_amount_of(&tree->specs[at].sure, resource);
        uint64_t bound = queue_amount_of(&tree->specs[at].most, resource);
        if (!most && sure)
            return sure;
        if (bound != UINT64_MAX)
            return bound;
    }
    return queue_amount_of(&tree->total, resource);
}

static const struct portion *member(const struct portions *p, int resource)
{
    return resource == QUEUE_CPU ? &p->cpu : resource == QUEUE_MEMORY ? &p->memory : &p->gpu;
}

static void take_portions(struct queue_tree *tree, const struct entry *entry,
                          struct queue_spec *spec)
{
    for (int r = 0; r < QUEUE_AMOUNTS; r++) {
        struct portion sure = portion_or_all(member(&entry->guaranteed, r), &entry->guaranteed);
        struct portion most = portion_or_all(member(&entry->maximum, r), &entry->maximum);
        struct portion user = portion_or_all(member(&entry->user, r), &entry->user);
        if (sure.given)
            *queue_part(&spec->sure, r) = portion_of(&sure, whole_of(tree, spec->parent, r, false));
        if (most.given)
            *queue_part(&spec->most, r) = portion_of(&most, whole_of(tree, spec->parent, r, true));
        uint64_t bound = queue_amount_of(&spec->most, r);
        if (user.given)
            *queue_part(&spec->user_most, r) = portion_of(
                &user, bound == UINT64_MAX ? whole_of(tree, spec->parent, r, true) : bound);
    }
    if (entry->user_cpu_milli)
        spec->user_most.cpu_milli = entry->user_cpu_milli;
    if (entry->user_gpu_milli)
        spec->user_most.gpu_milli = entry->user_gpu_milli;
}

struct making {
    struct queue_tree *tree;
    struct draft_entries plots;
    const struct cluster *cluster;
    const struct words *topology;
    const struct entry **entries; /* as specs */
};

static void make_spec(struct making *m, const struct entry *entry, uint32_t parent)
{
    struct queue_tree *tree = m->tree;
    struct queue_spec *spec = &tree->specs[tree->n];
    *spec = (struct queue_spec){ .name = arena_strdup(tree->arena, entry->name),
                                 .parent = parent,
                                 .most = VECTOR_ANY,
                                 .user_most = VECTOR_ANY,
                                 .weight = entry->weight ? entry->weight : 1,
                                 .keeps = entry->keeps };
    if (entry->strategy)
        queue_strategy_parse(entry->strategy, &spec->strategy);
    take_portions(tree, entry, spec);
    for (size_t i = 0; i < entry->cells.n; i++) {
        if (is_level(entry->cells.at[i].name, m->topology))
            add_cells(tree, entry, m->cluster, &entry->cells.at[i], &spec->sure);
        else
            no_level(tree, entry->name, entry->cells.at[i].name, m->topology);
    }
    string_map_set(tree->by_name, spec->name, spec);
    m->entries[tree->n] = entry;
    tree->kinds[tree->n] = entry->kind;
    tree->depths[tree->n] = parent == QUEUE_ROOT ? 0 : tree->depths[parent] + 1;
    tree->n++;
}

/* Children right behind their parent: the order in which a tree is printed. Each round places one
 * queue, so depth needs no stack. */
static void lay_out(struct making *m)
{
    size_t *stack = ARENA_ARRAY(m->tree->arena, m->plots.n + 1, size_t);
    uint32_t *position = ARENA_ARRAY(m->tree->arena, m->plots.n + 1, uint32_t);
    size_t depth = 0;
    for (size_t root = 0; root < m->plots.n; root++) {
        if (m->plots.at[root].parent != SIZE_MAX)
            continue;
        stack[depth++] = root;
        while (depth) {
            size_t at = stack[--depth], up = m->plots.at[at].parent;
            position[at] = (uint32_t)m->tree->n;
            make_spec(m, m->plots.at[at].entry, up == SIZE_MAX ? QUEUE_ROOT : position[up]);
            for (size_t child = m->plots.n; child-- > 0;)
                if (m->plots.at[child].parent == at)
                    stack[depth++] = child;
        }
    }
}

struct queue_tree *queue_tree_make(const struct catalogue *catalogue, const struct cluster *cluster,
                                   const struct words *topology)
{
    struct queue_tree *tree = mem_new(sizeof *tree);
    tree->arena = arena_create();
    tree->by_name = string_map_create();
    tree->total = sum_nodes(cluster, false);
    struct making m = { .tree = tree, .cluster = cluster, .topology = topology };
    m.plots = collect(tree->arena, catalogue);
    find_parents(tree, &m.plots);
    cut_circles(tree, &m.plots);
    tree->specs = ARENA_ARRAY(tree->arena, m.plots.n, struct queue_spec);
    tree->kinds = ARENA_ARRAY(tree->arena, m.plots.n, enum entry_kind);
    tree->depths = ARENA_ARRAY(tree->arena, m.plots.n, uint32_t);
    m.entries = ARENA_ARRAY(tree->arena, m.plots.n, const struct entry *);
    lay_out(&m);
    queue_tree_check(tree, m.entries);
    return tree;
}

void queue_tree_destroy(struct queue_tree *tree)
{
    if (!tree)
        return;
    string_map_destroy(tree->by_name);
    arena_destroy(tree->arena);
    free(tree);
}

uint32_t queue_tree_position(const struct queue_tree *tree, const char *name)
{
    const struct queue_spec *spec = name && *name ? string_map_get(tree->by_name, name) : NULL;
    if (!spec)
        spec = string_map_get(tree->by_name, "default");
    return (uint32_t)(spec - tree->specs);
}
