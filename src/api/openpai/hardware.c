/* Nodes and the tasks on them as Kubernetes' lists: what the portal's pages for admins read. Only
 * the members that those pages use are there. */
#include "api/openpai/hardware.h"

#include "answer/cluster_views.h"
#include "api/openpai/job.h"
#include "api/openpai/members.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define PODS_JOBS 1000u /* that hold nodes: the newest */

static struct text_node *list_of(struct pai *p, const char *kind, struct text_node **items)
{
    struct text_node *out = text_map(p->a, NULL, NULL);
    text_str(p->a, out, "kind", kind);
    text_str(p->a, out, "apiVersion", "v1");
    text_map(p->a, out, "metadata");
    *items = text_list(p->a, out, "items");
    return out;
}

static const char *quantity(struct pai *p, uint64_t n, const char *unit)
{
    return arena_printf(p->a, "%llu%s", (unsigned long long)n, unit);
}

static void put_amounts(struct pai *p, struct text_node *status, const char *key,
                        const struct node_answer *node)
{
    struct text_node *out = text_map(p->a, status, key);
    text_str(p->a, out, "cpu", quantity(p, node->cpu_milli, "m"));
    text_str(p->a, out, "memory", quantity(p, node->memory >> 10, "Ki"));
    text_str(p->a, out, "nvidia.com/gpu", quantity(p, node->gpus, ""));
}

static void put_node(struct pai *p, struct text_node *items, const struct node_answer *node)
{
    struct arena *a = p->a;
    struct text_node *out = text_map(a, items, NULL), *meta = text_map(a, out, "metadata");
    text_str(a, meta, "name", node->name);
    text_pairs(a, text_map(a, meta, "labels"), &node->labels);
    struct text_node *spec = text_map(a, out, "spec");
    text_bool(a, spec, "unschedulable", node->state == NODE_DRAINED);
    struct text_node *status = text_map(a, out, "status");
    put_amounts(p, status, "capacity", node);
    put_amounts(p, status, "allocatable", node);
    struct text_node *address = text_map(a, text_list(a, status, "addresses"), NULL);
    text_str(a, address, "type", "InternalIP");
    pai_put_text(a, address, "address", pai_said(node->address));
    struct text_node *ready = text_map(a, text_list(a, status, "conditions"), NULL);
    text_str(a, ready, "type", "Ready");
    text_str(a, ready, "status", node->state == NODE_DOWN ? "False" : "True");
}

void pai_kubernetes_nodes(struct pai *p)
{
    struct text_node *items, *out = list_of(p, "NodeList", &items);
    const struct nodes_view view = answer_nodes_view(p->ctl, p->a);
    for (size_t i = 0; i < view.nodes.n; i++)
        put_node(p, items, &view.nodes.at[i]);
    pai_answer(p, 200, out);
}

/* ---- pods: tasks that are on a node ---- */

static void put_pod(struct pai *p, struct text_node *items, const struct job_view *job,
                    const struct task_view *task)
{
    struct arena *a = p->a;
    const struct attempt_list *all = &task->attempts;
    const struct attempt_view *last = all->n ? &all->at[all->n - 1] : NULL;
    const char *frame = arena_printf(a, "%s~%s", job->owner, job->name);
    if (!last || !pai_said(last->node) || last->ended_ms)
        return;
    struct text_node *out = text_map(a, items, NULL), *meta = text_map(a, out, "metadata");
    text_str(a, meta, "name",
             arena_printf(a, "%s-%s-%llu", pai_debug_id(a, frame), task->role,
                          (unsigned long long)task->index));
    text_str(a, meta, "namespace", "default");
    struct text_node *labels = text_map(a, meta, "labels");
    text_str(a, labels, "jobName", job->name);
    text_str(a, labels, "userName", job->owner);
    text_str(a, labels, "taskRoleName", task->role);
    text_str(a, labels, "type", "kube-launcher-task");
    pai_put_text(a, labels, "virtualCluster", pai_said(job->queue));
    text_str(a, text_map(a, out, "spec"), "nodeName", last->node);
    struct text_node *status = text_map(a, out, "status");
    text_str(a, status, "phase", task->state == TASK_RUNNING ? "Running" : "Pending");
    pai_put_text(a, status, "podIP", pai_said(last->address));
    pai_put_text(a, status, "hostIP", pai_said(last->address));
}

void pai_kubernetes_pods(struct pai *p)
{
    struct text_node *items, *out = list_of(p, "PodList", &items);
    struct job_filter f = { .states = 1u << JOB_STARTING | 1u << JOB_RUNNING |
                                      1u << JOB_RESTARTING | 1u << JOB_STOPPING,
                            .limit = PODS_JOBS };
    struct err err;
    struct job_list jobs = { 0 };
    answer_list_view(p->ctl, p->a, &f, &jobs, &err);
    for (size_t i = 0; i < jobs.n; i++) {
        const struct job_ask ask = { .job = jobs.at[i].id, .owner = p->me, .parts = JOB_TASKS };
        struct job_view job = { 0 };
        answer_job_view(p->ctl, p->a, &ask, &job, &err);
        for (size_t k = 0; k < job.task_list.n; k++)
            put_pod(p, items, &job, &job.task_list.at[k]);
    }
    pai_answer(p, 200, out);
}

/* Nothing here watches and warns by itself. */
void pai_alerts(struct pai *p)
{
    pai_answer(p, 200, text_list(p->a, NULL, NULL));
}
