/* The dialect and its convention as main registers them, and what their parts share: places of
 * values, and what the job keeps in extra. Pure. */
#include "dialect/elasticjob/elasticjob.h"

#include "dialect/elasticjob/ej.h"

#include <stdarg.h>
#include <stdio.h>

/* Values of env in all containers; also below a list of documents. */
#define ENV_VALUES "spec.replicaSpecs.*.template.spec.containers.*.env.*.value"
/* What kubectl applied stands in an annotation, whole. */
#define APPLIED    "metadata.annotations.\"kubectl.kubernetes.io/last-applied-configuration\""
static const char *const secrets[] = { ENV_VALUES, "*." ENV_VALUES, APPLIED, "*." APPLIED, NULL };

static const struct dialect_kind kinds[] = { { EJ_KIND, ej_job_fields },
                                             { "PodGroup", ej_pod_group_fields },
                                             { NULL, NULL } };

const struct dialect elasticjob_dialect = {
    .name = "elasticjob",
    .title = "ElasticJob",
    .images = true,
    .looks_for = "apiVersion " EJ_API,
    .detect = ej_detect,
    .read = ej_read,
    .shape = ej_shape,
    .write = ej_write,
    .documents = true,
    .queues = true,
    .yaml = true,
    .secrets = secrets,
    .kinds = kinds,
};

const struct convention elasticjob_convention = {
    .name = EJ_CONVENTION,
    .launchers = LAUNCHER_DLROVER,
    .env = ej_env,
    .expand = ej_expand,
    .classify = ej_classify,
    .job_word = ej_job_word,
    .task_word = ej_task_word,
    .pods = &ej_pods,
};

/* ---- places ---- */

static struct ej_place step(struct ej_place from, const struct text_node *node, const char *path)
{
    return (
        struct ej_place){ .node = node, .place = node ? node->place : from.place, .path = path };
}

struct ej_place ej_in(const struct ej_reader *r, struct ej_place from, const char *key)
{
    const char *path =
        *from.path ? arena_printf(r->arena, "%s.%s", from.path, key) : arena_strdup(r->arena, key);
    return step(from, from.node ? text_get(from.node, key) : NULL, path);
}

struct ej_place ej_item(const struct ej_reader *r, struct ej_place from, size_t index)
{
    const struct text_node *node = from.node ? from.node->first : NULL;
    for (size_t i = 0; node && i < index; i++)
        node = node->next;
    return step(from, node, arena_printf(r->arena, "%s[%zu]", from.path, index));
}

struct ej_place ej_template(const struct ej_reader *r, enum ej_type type)
{
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    return ej_in(r, ej_in(r, types, ej_type_word(type)), "template");
}

__attribute__((format(printf, 3, 0))) static const char *said(const struct ej_reader *r,
                                                              const char *path, const char *fmt,
                                                              va_list ap)
{
    char text[400];
    vsnprintf(text, sizeof text, fmt, ap);
    return arena_printf(r->arena, "%s %s", path, text);
}

struct problem *ej_fail(const struct ej_reader *r, struct ej_place at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *what = said(r, at.path, fmt, ap);
    va_end(ap);
    return report_error(r->report, at.place, at.path, "%s", what);
}

struct problem *ej_warn(const struct ej_reader *r, struct ej_place at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *what = said(r, at.path, fmt, ap);
    va_end(ap);
    return report_warn(r->report, at.place, at.path, "%s", what);
}

/* ---- extra ---- */

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
