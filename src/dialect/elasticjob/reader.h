/* One reading of an ElasticJob: what its steps share, and where in the document a problem is that
 * is found after decoding. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_READER_H
#define DIALECT_ELASTICJOB_READER_H

#include "base/report.h"
#include "dialect/elasticjob/records.h"

struct site;
enum ej_strategy { EJ_ALLREDUCE, EJ_PARAMETER_SERVER, EJ_CUSTOM, EJ_LOCAL };

/* Where in the document. */
struct ej_place {
    const struct text_node *node; /* NULL: not written */
    struct place place;           /* of the deepest part that is written */
    const char *path;
};
struct ej_reader {
    struct arena *arena;
    struct report *report;
    const struct site *site;
    struct ej_spec *spec;
    struct ej_place root;
    enum ej_strategy strategy;
    struct job_spec *job;
    struct text_node *extra; /* our part */
    struct ej_pod_group *groups;
    size_t n_groups;
};

struct ej_place ej_in(const struct ej_reader *, struct ej_place, const char *key);
struct ej_place ej_item(const struct ej_reader *, struct ej_place, size_t index);
/* "spec.replicaSpecs.worker.template" */
struct ej_place ej_template(const struct ej_reader *, enum ej_type);
/* "PATH what"; the caller may add a hint. */
struct problem *ej_fail(const struct ej_reader *, struct ej_place, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
struct problem *ej_warn(const struct ej_reader *, struct ej_place, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
