/* Nodes and namespaces as objects, and kinds of which there are none here. A namespace is a
 * project: it is there as soon as one is named, and kept when one is made. */
#include "api/k8s/cluster.h"

#include "answer/cluster_views.h"
#include "api/k8s/answer.h"
#include "api/k8s/jobs.h"
#include "api/k8s/kept_objects.h"
#include "api/k8s/object.h"
#include "base/map.h"
#include "base/scan.h"
#include "documents/documents.h"

#include <string.h>

/* ---- nodes ---- */

static void put_amounts(struct arena *a, struct text_node *parent, const char *key,
                        const struct node_answer *node)
{
    char text[FMT_MAX];
    struct text_node *map = text_map(a, parent, key);
    text_str(a, map, "cpu", arena_printf(a, "%llum", (unsigned long long)node->cpu_milli));
    text_str(a, map, "memory", fmt_size(text, node->memory));
    text_str(a, map, "ephemeral-storage", fmt_size(text, node->disk));
    text_str(a, map, "nvidia.com/gpu", arena_printf(a, "%llu", (unsigned long long)node->gpus));
    text_str(a, map, "pods", "1000");
}

static void put_condition(struct arena *a, struct text_node *status, bool up, uint64_t since_ms)
{
    struct text_node *one = text_map(a, text_list(a, status, "conditions"), NULL);
    text_str(a, one, "type", "Ready");
    text_str(a, one, "status", up ? "True" : "Unknown");
    text_str(a, one, "reason", up ? "KubeletReady" : "NodeStatusUnknown");
    text_str(a, one, "message", up ? "its agent answers" : "its agent does not answer");
    text_str(a, one, "lastHeartbeatTime", facade_time(a, since_ms));
    text_str(a, one, "lastTransitionTime", facade_time(a, since_ms));
}

static void put_node(struct kube *k, const struct node_answer *node, struct kube_sink *sink)
{
    struct arena *a = k->scratch;
    uint64_t since = k->call->api->config.started_ms;
    struct kube_meta meta = { .name = node->name,
                              .uid = kube_uid(a, "node", 0, node->name),
                              .version = ctl_last_event(k->ctl),
                              .created_ms = since,
                              .labels = &node->labels };
    struct text_node *object = kube_object(a, kube_resource("", "v1", "nodes"), &meta), *status,
                     *info;
    struct text_node *spec = text_map(a, object, "spec");
    if (node->state == NODE_DRAINED)
        text_bool(a, spec, "unschedulable", true);
    status = text_map(a, object, "status");
    put_amounts(a, status, "capacity", node);
    put_amounts(a, status, "allocatable", node);
    put_condition(a, status, node->state != NODE_DOWN, since);
    struct text_node *address = text_map(a, text_list(a, status, "addresses"), NULL);
    text_str(a, address, "type", "InternalIP");
    text_str(a, address, "address", node->address ? node->address : "");
    info = text_map(a, status, "nodeInfo");
    text_str(a, info, "kubeletVersion", arena_printf(a, "muster-%s", k->call->api->config.version));
    k->subject = 0;
    sink->put(sink, object, meta.version);
}

int nodes_each(struct kube *k, struct kube_selection *want, struct kube_sink *sink)
{
    struct arena *arena = arena_create();
    const struct nodes_view view = answer_nodes_view(k->ctl, arena);
    for (size_t i = 0; i < view.nodes.n; i++) {
        if (!want->name || strcmp(view.nodes.at[i].name, want->name) == 0)
            put_node(k, &view.nodes.at[i], sink);
        arena_reset(k->scratch);
    }
    arena_destroy(arena);
    return 0;
}

/* ---- namespaces: there as soon as one is named; made ones are kept ---- */

#define KEPT_NAMESPACES "k8s.namespaces"

static const char *const always[] = { "default", "kube-system" };

static const struct document_view *kept(struct kube *k, struct arena *arena, const char *name)
{
    return document_find(ctl_documents(k->ctl), arena,
                         &(struct document){ KEPT_NAMESPACES, "", name, NULL });
}

static void put_namespace(struct kube *k, const char *name, const struct document_view *row,
                          struct kube_sink *sink)
{
    struct arena *a = k->scratch;
    const struct text_node *doc = row ? row->spec : NULL;
    uint64_t created = row ? row->created_ms : 0;
    struct kube_meta meta = { .name = name,
                              .uid = kube_uid(a, "namespace", created, name),
                              .version = row ? row->version : 1,
                              .created_ms = row ? created : k->call->api->config.started_ms,
                              .from = doc ? text_get(doc, "metadata") : NULL };
    struct text_node *object = kube_object(a, kube_resource("", "v1", "namespaces"), &meta);
    struct text_node *labels = kube_part(a, text_get(object, "metadata"), "labels");
    kube_drop(labels, "kubernetes.io/metadata.name");
    text_str(a, labels, "kubernetes.io/metadata.name", name);
    text_str(a, text_list(a, text_map(a, object, "spec"), "finalizers"), NULL, "kubernetes");
    text_str(a, text_map(a, object, "status"), "phase", "Active");
    k->subject = 0;
    sink->put(sink, object, meta.version);
    arena_reset(a);
}

static int note(struct kube *k, const struct kube_job *job, void *arg)
{
    (void)k;
    if (!string_map_get(arg, job->ns))
        string_map_set(arg, job->ns, arg);
    return 0;
}

/* Each name once: with the row of a kept one, else with the map itself. */
static struct string_map *listed(struct kube *k, struct arena *arena)
{
    struct string_map *names = string_map_create();
    struct kube_selection jobs = { 0 };
    const struct document_list rows =
        documents_list(ctl_documents(k->ctl), arena, KEPT_NAMESPACES, NULL);
    for (size_t i = 0; i < rows.n; i++)
        string_map_set(names, rows.at[i].name, &rows.at[i]);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (!string_map_get(names, always[i]))
            string_map_set(names, always[i], names);
    kube_each_job(k, &jobs, note, names);
    return names;
}

int namespaces_each(struct kube *k, struct kube_selection *want, struct kube_sink *sink)
{
    struct arena *arena = arena_create();
    if (want->name) {
        const char *name = arena_strdup(arena, want->name);
        put_namespace(k, name, kept(k, arena, name), sink);
    } else {
        struct string_map *names = listed(k, arena);
        size_t cursor = 0;
        const char *name;
        void *row;
        while (string_map_next(names, &cursor, &name, &row))
            put_namespace(k, name, row == names ? NULL : row, sink);
        string_map_destroy(names);
    }
    arena_destroy(arena);
    return 0;
}

static int has_one(struct kube *k, const struct kube_job *job, void *arg)
{
    (void)k;
    *(bool *)arg |= job->shown;
    return -1;
}

static bool has_jobs(struct kube *k, const char *name)
{
    bool has = false;
    struct kube_selection want = { .ns = name };
    kube_each_job(k, &want, has_one, &has);
    return has;
}

void namespaces_create(struct kube *k, struct text_node *object)
{
    const char *name = kube_in(object, "metadata", "name");
    bool there = kept(k, k->arena, name) || has_jobs(k, name);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        there |= strcmp(name, always[i]) == 0;
    if (there)
        kube_exists(k, name);
    else
        things_create(k, object);
}

/* Jobs are not ended by it. */
void namespaces_remove(struct kube *k, const struct text_node *object, ctl_done *done, void *arg)
{
    const char *name = kube_in(object, "metadata", "name");
    struct err err = { 0 };
    if (has_jobs(k, name))
        err_set(&err, ERR_CONFLICT, "namespaces \"%.260s\" has jobs: delete them first", name);
    else if (!kept(k, k->arena, name))
        err_set(&err, ERR_NOT_FOUND, "namespaces \"%.260s\" not found", name);
    if (err.code)
        done(arg, &(struct ctl_answer){ .err = &err });
    else
        things_remove(k, object, done, arg);
}

/* ---- none ---- */

int none_each(struct kube *k, struct kube_selection *want, struct kube_sink *sink)
{
    (void)k, (void)want, (void)sink;
    return 0;
}

void plans_create(struct kube *k, struct text_node *object)
{
    kube_invalid(k, kube_in(object, "metadata", "name"),
                 &(struct kube_fault){ "kind", PROBLEM_FORBIDDEN,
                                       "ScalePlans are retired, DLRover itself acts on them no "
                                       "more since 0.6; set replicas of the ElasticJob" });
}
