/* Nodes that would hold a job, and the largest request that fits. Candidates are made by simple
 * rules and then asked about: sched_possible() on a copy of the cluster decides. */
#include "admit/declare.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 4096u
#define GROUPS_MAX 64u   /* of equal declared nodes that are written again */
#define TRIES      16u   /* of smaller and smaller requests */
#define NODES_MOST 4096u /* that are tried */

static bool fits(const struct cluster *cluster, const struct job_spec *job)
{
    struct wait_reason reason = { 0 };
    struct arena *arena = arena_create();
    bool good = sched_possible(cluster, job, arena, &reason) == 0;
    arena_destroy(arena);
    return good;
}

/* ---- the short form (read by main/nodes.c) ---- */

static bool is_word(const char *text)
{
    return *text && !text[strcspn(text, ",;=: \n\t")];
}

static bool ends_in(const char *text, const char *unit)
{
    size_t n = strlen(text), u = strlen(unit);
    return n >= u && strcmp(text + n - u, unit) == 0;
}

/* Does the short form say all of it? Labels called as its own keys do not go there. */
static bool can_write(const struct node_spec *node)
{
    static const char *const keys[] = { "name", "disk", "memory" };
    if (*node->gpu_type && !is_word(node->gpu_type))
        return false;
    for (size_t i = 0; i < node->labels.n; i++) {
        const char *name = node->labels.at[i].name, *value = node->labels.at[i].value;
        if (!is_word(name) || !*value || value[strcspn(value, ",;")])
            return false;
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
            if (strcmp(name, keys[k]) == 0)
                return false;
    }
    for (size_t i = 0; i < node->custom.n; i++)
        if (!is_word(node->custom.at[i].name) || ends_in(node->custom.at[i].name, "gpu"))
            return false;
    return true;
}

static void write_node(const struct node_spec *node, uint32_t count, struct buf *out)
{
    char text[FMT_MAX];
    buf_addf(out, "%s%ux%scpu", out->len ? ";" : "", count, fmt_milli(text, node->cpu_milli));
    buf_addf(out, ",%s", fmt_size(text, node->memory));
    if (node->gpus)
        buf_addf(out, ",%ugpu%s%s", node->gpus, *node->gpu_type ? ":" : "", node->gpu_type);
    if (node->disk)
        buf_addf(out, ",disk=%s", fmt_size(text, node->disk));
    for (size_t i = 0; i < node->custom.n; i++)
        buf_addf(out, ",%s:%s", node->custom.at[i].name, fmt_milli(text, node->custom.at[i].milli));
    for (size_t i = 0; i < node->labels.n; i++)
        buf_addf(out, ",%s=%s", node->labels.at[i].name, node->labels.at[i].value);
}

/* ---- what is declared already ---- */

static bool is_same(const struct node_spec *a, const struct node_spec *b)
{
    if (a->cpu_milli != b->cpu_milli || a->memory != b->memory || a->disk != b->disk ||
        a->gpus != b->gpus || strcmp(a->gpu_type, b->gpu_type) != 0 || a->labels.n != b->labels.n ||
        a->custom.n != b->custom.n)
        return false;
    for (size_t i = 0; i < a->labels.n; i++)
        if (strcmp(a->labels.at[i].name, b->labels.at[i].name) != 0 ||
            strcmp(a->labels.at[i].value, b->labels.at[i].value) != 0)
            return false;
    for (size_t i = 0; i < a->custom.n; i++)
        if (strcmp(a->custom.at[i].name, b->custom.at[i].name) != 0 ||
            a->custom.at[i].milli != b->custom.at[i].milli)
            return false;
    return true;
}

/* The i-th declared node is called n(i+1) when nothing names it. */
static bool has_own_name(const struct node_spec *node, uint32_t i)
{
    char usual[24];
    snprintf(usual, sizeof usual, "n%u", i + 1);
    return strcmp(node->name, usual) != 0;
}

/* false: they do not go into the short form. Nothing is written when the machine is as detected. */
static bool write_declared(const struct cluster *cluster, struct buf *out)
{
    uint32_t n = cluster_count(cluster), groups = 0;
    for (uint32_t i = 0; i < n;) {
        const struct node_spec *node = cluster_node(cluster, i).spec;
        uint32_t count = 1;
        if (!node->declared)
            return n == 1;
        if (++groups > GROUPS_MAX || !can_write(node))
            return false;
        bool named = has_own_name(node, i);
        while (!named && i + count < n && is_same(node, cluster_node(cluster, i + count).spec) &&
               !has_own_name(cluster_node(cluster, i + count).spec, i + count))
            count++;
        if (named && !is_word(node->name))
            return false;
        write_node(node, count, out);
        if (named)
            buf_addf(out, ",name=%s", node->name);
        i += count;
    }
    return true;
}

/* ---- nodes for the job ---- */

struct node_group {
    struct node_spec node;
    uint32_t count;
};
struct trial {
    struct arena *arena;
    const struct cluster *cluster;
    const struct job_spec *job;
    struct node_group *at;
    size_t n;
};

static void add_custom(struct arena *a, struct amounts *list, const char *name, uint64_t milli)
{
    size_t i = 0;
    while (i < list->n && strcmp(list->at[i].name, name) != 0)
        i++;
    if (i < list->n) {
        list->at[i].milli += milli;
        return;
    }
    struct amount *wider = ARENA_ARRAY(a, list->n + 1, struct amount);
    if (list->n)
        memcpy(wider, list->at, list->n * sizeof *wider);
    wider[list->n++] = (struct amount){ .name = name, .milli = milli };
    list->at = wider;
}

/* Whole cores and devices, memory that is somewhat. */
static void round_up(struct node_spec *node, uint64_t gpu_milli)
{
    node->cpu_milli = node->cpu_milli ? (node->cpu_milli + 999) / 1000 * 1000 : 1000;
    node->memory = node->memory ? node->memory : UINT64_C(1) << 30;
    node->gpus = (uint32_t)((gpu_milli + 999) / 1000);
    if (node->gpus == 0)
        node->gpu_type = "";
}

/* A node that holds `times` tasks of the role, beside what it holds already. */
static void put_tasks(struct trial *t, struct node_spec *node, const struct role *role,
                      uint64_t times, uint64_t *gpu_milli)
{
    const struct resources *r = &role->resources;
    node->cpu_milli += r->cpu_milli * times;
    node->memory += (r->memory + r->shm) * times;
    node->disk += r->disk * times;
    *gpu_milli += (r->gpu_milli < 1000 ? r->gpu_milli : (r->gpu_milli + 999) / 1000 * 1000) * times;
    if (r->gpu_types.n)
        node->gpu_type = r->gpu_types.at[0];
    for (size_t i = 0; i < r->custom.n; i++)
        add_custom(t->arena, &node->custom, r->custom.at[i].name, r->custom.at[i].milli * times);
}

static struct node_spec new_node(const struct trial *t)
{
    const char *host = cluster_node(t->cluster, 0).spec->host;
    return (struct node_spec){ .host = host,
                               .address = "",
                               .gpu_type = "",
                               .declared = true,
                               .labels = t->job->placing.labels };
}

/* A node for each task; tasks that share one by per_group get one together. */
static void want_per_task(struct trial *t)
{
    for (size_t i = 0; i < t->job->n_roles; i++) {
        const struct role *role = &t->job->roles[i];
        struct node_group *w = &t->at[t->n++];
        uint64_t gpu_milli = 0;
        *w = (struct node_group){ .node = new_node(t), .count = job_groups(role) };
        put_tasks(t, &w->node, role, role->per_group ? role->per_group : 1, &gpu_milli);
        round_up(&w->node, gpu_milli);
    }
}

/* One node for all tasks: what must be together is. */
static void want_one(struct trial *t)
{
    struct node_group *w = &t->at[t->n++];
    uint64_t gpu_milli = 0;
    *w = (struct node_group){ .node = new_node(t), .count = 1 };
    for (size_t i = 0; i < t->job->n_roles; i++)
        put_tasks(t, &w->node, &t->job->roles[i], t->job->roles[i].replicas, &gpu_milli);
    round_up(&w->node, gpu_milli);
}

/* The cluster as it would be: declared nodes stay, the machine as detected gives way. */
static bool would_fit(const struct trial *t)
{
    uint64_t all = 0;
    for (size_t i = 0; i < t->n; i++)
        all += t->at[i].count;
    if (all > NODES_MOST)
        return false;
    struct cluster *copy = cluster_clone(t->cluster);
    uint32_t n = cluster_count(copy);
    const struct node_spec *first = cluster_node(t->cluster, 0).spec;
    if (!first->declared) {
        struct node_spec nothing = {
            .name = first->name, .address = first->address, .host = first->host, .gpu_type = ""
        };
        cluster_put(copy, &nothing);
        n = 0;
    }
    for (size_t i = 0; i < t->n; i++)
        for (uint32_t k = 0; k < t->at[i].count; k++) {
            struct node_spec node = t->at[i].node;
            char name[24];
            snprintf(name, sizeof name, "n%u", ++n);
            node.name = name;
            cluster_put(copy, &node);
        }
    bool good = fits(copy, t->job);
    cluster_destroy(copy);
    return good;
}

const char *declare_nodes(struct arena *arena, const struct cluster *cluster,
                          const struct job_spec *job)
{
    static void (*const rules[])(struct trial *) = { want_per_task, want_one };
    AUTO_BUF struct buf out = BUF_INIT(TEXT_BYTES);
    if (cluster_count(cluster) == 0 || !write_declared(cluster, &out))
        return NULL;
    for (size_t rule = 0; rule < ARRAY_LEN(rules); rule++) {
        struct trial t = { .arena = arena, .cluster = cluster, .job = job };
        t.at = ARENA_ARRAY(arena, job->n_roles + 1, struct node_group);
        rules[rule](&t);
        bool writable = true;
        for (size_t i = 0; i < t.n; i++)
            writable = writable && can_write(&t.at[i].node);
        if (!writable || !would_fit(&t))
            continue;
        for (size_t i = 0; i < t.n; i++)
            write_node(&t.at[i].node, t.at[i].count, &out);
        return out.overflow ? NULL : arena_strdup(arena, buf_str(&out));
    }
    return NULL;
}

/* ---- a smaller job ---- */

static bool fits_with(const struct cluster *cluster, const struct job_spec *job, const char *set)
{
    struct arena *arena = arena_create();
    struct report report;
    struct err err;
    struct text_node *tree = job_encode(arena, job);
    report_init(&report, arena);
    bool good = job_tree_set(arena, tree, set, &err) == 0;
    const struct job_spec *spec = good ? job_decode(arena, tree, &report) : NULL;
    good = spec && report_ok(&report) && fits(cluster, spec);
    arena_destroy(arena);
    return good;
}

static const char *set_resource(struct arena *arena, const struct role *role,
                                const struct wait_reason *reason)
{
    char amount[FMT_MAX];
    const char *name = reason->resource;
    if (strcmp(name, "gpu") == 0 && reason->best < 1000)
        return NULL; /* without a device it would be another program: a slow one */
    if (strcmp(name, "gpu") == 0)
        snprintf(amount, sizeof amount, "%llu", (unsigned long long)reason->best / 1000);
    else if (strcmp(name, "cpu") == 0 && reason->best)
        fmt_milli(amount, reason->best);
    else if ((strcmp(name, "memory") == 0 || strcmp(name, "disk") == 0) && reason->best)
        fmt_size(amount, reason->best);
    else
        return NULL;
    return arena_printf(arena, "roles.%s.resources.%s=%s", role->name, name, amount);
}

/* The most tasks that fit; more never fit where fewer do not. */
static const char *set_replicas(struct arena *arena, const struct cluster *cluster,
                                const struct job_spec *job, const struct role *role)
{
    uint32_t group = role->per_group ? role->per_group : 1, low = 0, high = job_groups(role);
    const char *best = NULL;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *set = arena_printf(arena, "roles.%s.replicas=%u", role->name, middle * group);
        if (fits_with(cluster, job, set)) {
            best = set;
            low = middle;
        } else {
            high = middle;
        }
    }
    return best;
}

/* The largest request of the kind that is short with which all tasks fit. */
static const char *set_largest(struct arena *arena, const struct cluster *cluster,
                               const struct job_spec *job, const struct role *role,
                               const struct wait_reason *reason)
{
    struct wait_reason less = *reason;
    bool devices = strcmp(reason->resource, "gpu") == 0;
    for (unsigned i = 0; i < TRIES; i++) {
        const char *set = set_resource(arena, role, &less);
        if (!set || fits_with(cluster, job, set))
            return set;
        if (less.best < (devices ? 1000 : 2))
            return NULL;
        less.best = devices ? less.best - 1000 : less.best / 2;
    }
    return NULL;
}

const char *declare_smaller(struct arena *arena, const struct cluster *cluster,
                            const struct job_spec *job, const struct wait_reason *reason)
{
    const struct role *role = reason->role ? job_role(job, reason->role, NULL) : NULL;
    if (!role)
        return NULL;
    const char *set = reason->resource ? set_largest(arena, cluster, job, role, reason) : NULL;
    return set ? set : set_replicas(arena, cluster, job, role);
}
