/* What the tests of this folder share: reading a text, a placement for a job, an ElasticJob to put
 * things into. */
#ifndef DIALECT_ELASTICJOB_TEST_SAMPLE_H
#define DIALECT_ELASTICJOB_TEST_SAMPLE_H

#include "dialect/elasticjob/names.h"
#include "dialect/elasticjob/read.h"
#include "dialect/test/place.h"
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
