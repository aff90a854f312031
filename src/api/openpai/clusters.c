/* Virtual clusters: the queues. A queue's guarantee, its bound and what its jobs hold, in OpenPAI's
 * units (memory in MB) and as parts of the cluster. */
#include "api/openpai/clusters.h"

#include "answer/cluster_views.h"
#include "base/mem.h"

#include <string.h>

struct amounts3 {
    uint64_t cpu, memory, gpu; /* CPUs, MB, devices */
};

static struct amounts3 amounts_of(const struct vector *v)
{
    return (struct amounts3){ .cpu = v->cpu_milli / 1000,
                              .memory = v->memory >> 20,
                              .gpu = (v->gpu_milli + 999) / 1000 };
}

/* Resources that have no bound are bounded by the cluster. */
static struct amounts3 bounded_by(const struct vector *v, struct amounts3 all)
{
    struct amounts3 some = amounts_of(v);
    return (struct amounts3){ .cpu = v->cpu_milli != UINT64_MAX ? some.cpu : all.cpu,
                              .memory = v->memory != UINT64_MAX ? some.memory : all.memory,
                              .gpu = v->gpu_milli != UINT64_MAX ? some.gpu : all.gpu };
}

static void put_amounts(const struct pai *p, struct text_node *out, const char *key,
                        struct amounts3 n)
{
    struct text_node *map = text_map(p->a, out, key);
    text_int(p->a, map, "memory", (int64_t)n.memory);
    text_int(p->a, map, "vCores", (int64_t)n.cpu);
    text_int(p->a, map, "GPUs", (int64_t)n.gpu);
    if (p->version == PAI_V1)
        return;
    text_int(p->a, map, "cpu", (int64_t)n.cpu);
    text_int(p->a, map, "gpu", (int64_t)n.gpu);
}

/* Percent of the cluster: of its devices, of its CPUs when it has none. */
static double percent(struct amounts3 part, struct amounts3 all)
{
    uint64_t of = all.gpu ? all.gpu : all.cpu, is = all.gpu ? part.gpu : part.cpu;
    return of ? 100.0 * (double)is / (double)of : 0;
}

static void put_nodes(const struct pai *p, struct text_node *out)
{
    struct text_node *list = text_list(p->a, out, "nodeList");
    const struct nodes_view view = answer_nodes_view(p->ctl, p->a);
    for (size_t i = 0; i < view.nodes.n; i++)
        text_str(p->a, list, NULL, view.nodes.at[i].name);
}

static void put_cluster(const struct pai *p, struct text_node *parent, const char *key,
                        const struct queue_view *queue, const struct vector *total)
{
    struct arena *a = p->a;
    const struct amounts3 all = amounts_of(total);
    const struct amounts3 used = amounts_of(&queue->used);
    const struct amounts3 sure = amounts_of(&queue->guaranteed);
    const struct amounts3 most = bounded_by(&queue->maximum, all);
    struct text_node *out = text_map(a, parent, key);
    text_real(a, out, "capacity", percent(sure, all));
    text_real(a, out, "maxCapacity", percent(most, all));
    text_real(a, out, "usedCapacity", percent(used, all));
    text_int(a, out, "numActiveJobs", (int64_t)queue->running);
    text_int(a, out, "numPendingJobs", (int64_t)queue->waiting);
    text_int(a, out, "numJobs", (int64_t)(queue->running + queue->waiting));
    put_amounts(p, out, "resourcesUsed", used);
    if (p->version == PAI_V2)
        put_amounts(p, out, "resourcesGuaranteed", sure);
    put_amounts(p, out, "resourcesTotal", most);
    text_bool(a, out, "dedicated", false);
    put_nodes(p, out);
    text_str(a, out, "status", "RUNNING");
}

/* Map of nodes: what of their devices is in use. */
static void node_gpus(struct pai *p)
{
    struct text_node *out = text_map(p->a, NULL, NULL);
    const struct nodes_view view = answer_nodes_view(p->ctl, p->a);
    for (const struct node_answer *one = view.nodes.at; one < view.nodes.at + view.nodes.n; one++) {
        uint64_t all = one->gpus, idle = one->gpu_idle;
        struct text_node *node = text_map(p->a, out, one->name);
        text_int(p->a, node, "gpuUsed", (int64_t)(all > idle ? all - idle : 0));
        text_int(p->a, node, "gpuAvailable", (int64_t)idle);
        text_int(p->a, node, "gpuTotal", (int64_t)all);
    }
    pai_answer(p, 200, out);
}

void pai_clusters(struct pai *p)
{
    struct err err;
    if (p->version == PAI_V2 && http_query(p->call->request, "nodes", 0)) {
        node_gpus(p);
        return;
    }
    struct queues_view view;
    if (answer_queues_view(p->ctl, p->a, p->me, NULL, &view, &err)) {
        pai_err(p, &err, NULL);
        return;
    }
    struct text_node *out = text_map(p->a, NULL, NULL);
    for (size_t i = 0; i < view.queues.n; i++)
        put_cluster(p, out, view.queues.at[i].name, &view.queues.at[i], &view.total);
    pai_answer(p, 200, out);
}

/* The queue of the path among all; NULL: answered. */
static const struct queue_view *find_queue(struct pai *p, struct queues_view *all)
{
    answer_queues_view(p->ctl, p->a, p->me, NULL, all, NULL);
    for (size_t i = 0; i < all->queues.n; i++)
        if (strcmp(all->queues.at[i].name, p->param[0]) == 0)
            return &all->queues.at[i];
    pai_fail(p, PAI_NO_VC, "Vc %.200s not found", p->param[0]);
    return NULL;
}

void pai_cluster(struct pai *p)
{
    struct queues_view all;
    const struct queue_view *queue = find_queue(p, &all);
    if (!queue)
        return;
    struct text_node *out = text_map(p->a, NULL, NULL);
    put_cluster(p, out, "vc", queue, &all.total);
    pai_answer(p, 200, out->first);
}

void pai_cluster_change(struct pai *p)
{
    pai_fail(p, PAI_NOT_IMPLEMENTED,
             "Virtual clusters are queues: an admin declares them with muster apply.");
}

/* ---- bundles of a node: one device with its part of the rest, or one CPU ---- */

static void put_sku(struct pai *p, struct text_node *out, const struct node_answer *node)
{
    uint64_t gpus = node->gpus, cpus = node->cpu_milli / 1000;
    uint64_t memory = node->memory >> 20, parts = gpus ? gpus : cpus ? cpus : 1;
    const char *type = node->gpu_type;
    const char *name = !gpus ? "CPU" : type && *type ? type : "GPU";
    struct text_node *sku = text_get(out, name);
    if (sku) {
        struct text_node *cpu = text_get(sku, "cpu"), *mb = text_get(sku, "memory");
        if ((int64_t)(cpus / parts) < cpu->integer)
            cpu->integer = (int64_t)(cpus / parts);
        if ((int64_t)(memory / parts) < mb->integer)
            mb->integer = (int64_t)(memory / parts);
        return;
    }
    sku = text_map(p->a, out, name);
    text_int(p->a, sku, "cpu", (int64_t)(cpus / parts));
    text_int(p->a, sku, "memory", (int64_t)(memory / parts));
    text_int(p->a, sku, "gpu", gpus > 0);
}

/* Of all nodes: every queue may use each. */
void pai_skus(struct pai *p)
{
    const char *vc = http_query(p->call->request, "vc", 0);
    struct queues_view all;
    p->param[0] = p->param[0] ? p->param[0] : vc;
    if (p->param[0] && !find_queue(p, &all))
        return;
    struct text_node *out = text_map(p->a, NULL, NULL);
    const struct nodes_view view = answer_nodes_view(p->ctl, p->a);
    for (size_t i = 0; i < view.nodes.n; i++)
        put_sku(p, out, &view.nodes.at[i]);
    pai_answer(p, 200, out);
}
