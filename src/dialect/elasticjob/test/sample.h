/* What the tests of this folder share: reading a text, a placement for a job, an ElasticJob to put
 * things into. */
#ifndef DIALECT_ELASTICJOB_TEST_SAMPLE_H
#define DIALECT_ELASTICJOB_TEST_SAMPLE_H

#include "dialect/elasticjob/ej.h"
#include "text/detect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct site sample_site = { .owner = "ada", .fs_uri = "file:///fs" };

/* A job of one container: strategy, fields of the worker, of the template, of the container. */
struct sample {
    const char *strategy, *spec, *worker, *metadata, *pod, *container;
};

static inline const char *or_nothing(const char *text)
{
    return text ? text : "";
}

static inline const char *sample_text(struct arena *arena, const struct sample *s)
{
    return arena_printf(arena,
                        "{\"apiVersion\": \"" EJ_API "\", \"kind\": \"ElasticJob\",\n"
                        " \"metadata\": {\"name\": \"job\", \"namespace\": \"lab\"},\n"
                        " \"spec\": {\"distributionStrategy\": \"%s\", %s\n"
                        "  \"replicaSpecs\": {\"worker\": {\"replicas\": 4, %s\n"
                        "   \"template\": {\"metadata\": {%s},\n"
                        "    \"spec\": {%s\n"
                        "     \"containers\": [{\"name\": \"main\", %s}]}}}}}}\n",
                        s->strategy ? s->strategy : "AllreduceStrategy", or_nothing(s->spec),
                        or_nothing(s->worker), or_nothing(s->metadata), or_nothing(s->pod),
                        s->container ? s->container : "\"command\": [\"sleep\", \"1\"]");
}

static inline struct job_spec *sample_read(struct arena *arena, const char *text,
                                           struct report *report)
{
    size_t documents;
    report_init(report, arena);
    struct text_node *root = text_parse_documents(arena, text, strlen(text), &documents, report);
    return root ? ej_read(arena, root, &sample_site, report) : NULL;
}

/* The job of a sample that is right. */
static inline struct job_spec *sample_job(struct arena *arena, const struct sample *s)
{
    struct report report;
    struct job_spec *job = sample_read(arena, sample_text(arena, s), &report);
    if (!job)
        fail_msg("%s", report.n ? report.at[0].what : "no job");
    return job;
}

static inline const struct problem *sample_problem(const struct report *report, const char *part)
{
    for (size_t i = 0; i < report->n; i++)
        if (strstr(report->at[i].what, part))
            return &report->at[i];
    return NULL;
}

/* Every task on an address of its own, ports counted up from 30000 over the whole job. */
static inline struct job_place *sample_place(struct arena *arena, const struct job_spec *job)
{
    struct job_place *place = ARENA_NEW(arena, struct job_place);
    uint32_t port = 30000;
    *place = (struct job_place){ .id = 7, .number = 12, .generation = 1, .owner = "ada" };
    place->tasks = ARENA_ARRAY(arena, job_task_count(job), struct task_place);
    for (uint32_t r = 0; r < job->n_roles; r++)
        for (uint32_t i = 0; i < job->roles[r].replicas; i++) {
            const struct role *role = &job->roles[r];
            struct task_place *task = &place->tasks[place->n++];
            *task = (struct task_place){ .role = r, .index = i, .attempt = 1, .node = "n1" };
            task->address = arena_printf(arena, "127.0.1.%u", place->n);
            task->n_ports = (uint32_t)role->n_ports;
            task->ports = ARENA_ARRAY(arena, role->n_ports, struct placed_port);
            for (size_t p = 0; p < role->n_ports; p++) {
                task->ports[p] = (struct placed_port){ .label = role->ports[p].label, .count = 1 };
                task->ports[p].numbers = ARENA_ARRAY(arena, 1, uint32_t);
                task->ports[p].numbers[0] = port++;
            }
        }
    return place;
}

static inline int sample_setup(void **state)
{
    *state = arena_create();
    return 0;
}

static inline int sample_teardown(void **state)
{
    arena_destroy(*state);
    return 0;
}

#define SAMPLE_TEST(f) cmocka_unit_test_setup_teardown(f, sample_setup, sample_teardown)

#endif
