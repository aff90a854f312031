/* Our part of job_spec.extra: what a job has of its origin that its environment, its states and the
 * way back need. Pure. */
#include "dialect/elasticjob/extra.h"

#include "text/tree.h"

static const struct text_node *extra_node(const struct job_spec *job, const char *key)
{
    const struct text_node *ours = job->extra ? text_get(job->extra, EJ_EXTRA) : NULL;
    return ours ? text_get(ours, key) : NULL;
}

const struct text_node *ej_pod_metadata(const struct job_spec *job, const char *role,
                                        const char *key)
{
    const struct text_node *pods = extra_node(job, EJ_PODS);
    const struct text_node *own = pods ? text_get(pods, role) : NULL;
    const struct text_node *found = own ? text_get(own, key) : NULL;
    return found && found->kind == TEXT_MAP ? found : NULL;
}

const char *ej_extra_text(const struct job_spec *job, const char *key)
{
    const struct text_node *node = extra_node(job, key);
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

bool ej_extra_flag(const struct job_spec *job, const char *key)
{
    const struct text_node *node = extra_node(job, key);
    return node && node->kind == TEXT_BOOL && node->boolean;
}
