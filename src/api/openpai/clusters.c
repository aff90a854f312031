/* Virtual clusters: the queues. A queue's guarantee, its bound and what its jobs hold, in OpenPAI's
 * units (memory in MB) and as parts of the cluster. */
#include "api/openpai/pai.h"

#include "base/mem.h"

#include <string.h>

struct amounts3 {
    uint64_t cpu, memory, gpu; /* CPUs, MB, devices */
};

static struct amounts3 amounts_of(const struct text_node *map)
{
    return (struct amounts3){ .cpu = pai_number(map, "cpu_milli") / 1000,
                              .memory = pai_number(map, "memory") >> 20,
                              .gpu = (pai_number(map, "gpu_milli") + 999) / 1000 };
}

/* Resources that a bound does not name are bounded by the cluster. */
static struct amounts3 bounded_by(const struct text_node *map, struct amounts3 all)
{
    struct amounts3 some = amounts_of(map);
    return (struct amounts3){ .cpu = text_get(map, "cpu_milli") ? some.cpu : all.cpu,
                              .memory = text_get(map, "memory") ? some.memory : all.memory,
                              .gpu = text_get(map, "gpu_milli") ? some.gpu : all.gpu };
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
    const struct text_node *nodes = text_get(ctl_nodes_tree(p->ctl, p->a), "nodes");
    for (const struct text_node *one = nodes ? nodes->first : NULL; one; one = one->next)
        pai_put_text(p->a, list, NULL, pai_text(one, "name"));
}

static void put_cluster(const struct pai *p, struct text_node *parent, const char *key,
                        const struct text_node *queue, struct amounts3 all)
{
    struct arena *a = p->a;
    const struct amounts3 used = amounts_of(text_get(queue, "used"));
    const struct amounts3 sure = amounts_of(text_get(queue, "guaranteed"));
    const struct amounts3 most = bounded_by(text_get(queue, "maximum"), all);
    uint64_t running = pai_number(queue, "running"), waiting = pai_number(queue, "waiting");
    struct text_node *out = text_map(a, parent, key);
    text_real(a, out, "capacity", percent(sure, all));
    text_real(a, out, "maxCapacity", percent(most, all));
    text_real(a, out, "usedCapacity", percent(used, all));
    text_int(a, out, "numActiveJobs", (int64_t)running);
    text_int(a, out, "numPendingJobs", (int64_t)waiting);
    text_int(a, out, "numJobs", (int64_t)(running + waiting));
    put_amounts(p, out, "resourcesUsed", used);
    if (p->version == PAI_V2)
        put_amounts(p, out, "resourcesGuaranteed", sure);
    put_amounts(p, out, "resourcesTotal", most);
    text_bool(a, out, "dedicated", false);
    put_nodes(p, out);
    text_str(a, out, "status", "RUNNING");
}

static struct amounts3 cluster_of(const struct text_node *tree)
{
    return amounts_of(text_get(tree, "total"));
}

/* Map of nodes: what of their devices is in use. */
static void node_gpus(struct pai *p)
{
    struct text_node *out = text_map(p->a, NULL, NULL);
    const struct text_node *nodes = text_get(ctl_nodes_tree(p->ctl, p->a), "nodes");
    for (const struct text_node *one = nodes ? nodes->first : NULL; one; one = one->next) {
        uint64_t all = pai_number(one, "gpus"), idle = pai_number(one, "gpu_idle");
        struct text_node *node = text_map(p->a, out, pai_text(one, "name"));
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
    const struct text_node *tree = ctl_queues_tree(p->ctl, p->a, p->me, NULL, &err);
    if (!tree) {
        pai_err(p, &err, NULL);
        return;
    }
    struct text_node *out = text_map(p->a, NULL, NULL);
    for (const struct text_node *one = text_get(tree, "queues")->first; one; one = one->next)
        put_cluster(p, out, pai_text(one, "name"), one, cluster_of(tree));
    pai_answer(p, 200, out);
}

/* The queue of the path in a tree of all; NULL: answered. */
static const struct text_node *find_queue(struct pai *p, const struct text_node *tree)
{
    const struct text_node *list = text_get(tree, "queues");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (strcmp(pai_text(one, "name"), p->param[0]) == 0)
            return one;
    pai_fail(p, PAI_NO_VC, "Vc %.200s not found", p->param[0]);
    return NULL;
}

void pai_cluster(struct pai *p)
{
    const struct text_node *tree = ctl_queues_tree(p->ctl, p->a, p->me, NULL, NULL);
    const struct text_node *queue = find_queue(p, tree);
    if (!queue)
        return;
    struct text_node *out = text_map(p->a, NULL, NULL);
    put_cluster(p, out, "vc", queue, cluster_of(tree));
    pai_answer(p, 200, out->first);
}

void pai_cluster_change(struct pai *p)
{
    pai_fail(p, PAI_NOT_IMPLEMENTED,
             "Virtual clusters are queues: an admin declares them with muster apply.");
}

/* ---- bundles of a node: one device with its part of the rest, or one CPU ---- */

static void put_sku(struct pai *p, struct text_node *out, const struct text_node *node)
{
    uint64_t gpus = pai_number(node, "gpus"), cpus = pai_number(node, "cpu_milli") / 1000;
    uint64_t memory = pai_number(node, "memory") >> 20, parts = gpus ? gpus : cpus ? cpus : 1;
    const char *type = pai_text(node, "gpu_type");
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
    struct err err;
    p->param[0] = p->param[0] ? p->param[0] : vc;
    if (p->param[0] && !find_queue(p, ctl_queues_tree(p->ctl, p->a, p->me, NULL, &err)))
        return;
    struct text_node *out = text_map(p->a, NULL, NULL);
    const struct text_node *nodes = text_get(ctl_nodes_tree(p->ctl, p->a), "nodes");
    for (const struct text_node *one = nodes ? nodes->first : NULL; one; one = one->next)
        put_sku(p, out, one);
    pai_answer(p, 200, out);
}
