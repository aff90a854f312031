/* An ElasticJob as its author wrote it, decoded, before it becomes a canonical job: the records of
 * the field tables (fields.c). Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_RECORDS_H
#define DIALECT_ELASTICJOB_RECORDS_H

#include "dialect/elasticjob/types.h"
#include "job/field.h"
#include "job/job.h"

struct ej_metadata {
    const char *name, *namespace;
    struct pairs labels, annotations;
};
struct ej_secret { /* secretKeyRef; of secretRef without a key */
    const char *name, *key;
    bool optional;
};
struct ej_value_source { /* valueFrom */
    const char *field, *resource;
    struct ej_secret secret;
    bool has_field, has_resource, has_secret;
};
struct ej_env_source {
    const char *prefix;
    struct ej_secret secret;
    bool has_secret;
    struct place place;
};
struct ej_env {
    const char *name, *value;
    struct ej_value_source from;
    bool has_from;
    struct place place;
};
struct ej_amounts { /* resources */
    struct pairs requests, limits;
};
struct ej_volume_mount {
    const char *name, *at, *sub_path;
    bool read_only;
    struct place place;
};
struct ej_container {
    const char *name, *image, *work_dir;
    struct words command, args;
    bool open_stdin, tty;
    struct ej_env *env;
    size_t n_env;
    struct ej_env_source *from;
    size_t n_from;
    struct ej_amounts resources;
    struct ej_volume_mount *mounts;
    size_t n_mounts;
    struct place place;
};
struct ej_host_path {
    const char *path, *type;
};
struct ej_empty_dir {
    const char *medium, *limit;
};
struct ej_claim {
    const char *name;
    bool read_only;
};
struct ej_key_path {
    const char *key, *path;
    struct place place;
};
struct ej_secret_volume {
    const char *name;
    bool optional;
    struct ej_key_path *items;
    size_t n_items;
};
struct ej_volume {
    const char *name;
    struct ej_secret_volume secret;
    struct ej_host_path host;
    struct ej_empty_dir empty;
    struct ej_claim claim;
    bool has_host, has_empty, has_claim, has_secret;
    struct place place;
};
struct ej_pod {
    struct ej_metadata metadata;
    const char *restart_policy, *node_name;
    struct ej_container *containers;
    size_t n_containers;
    struct ej_volume *volumes;
    size_t n_volumes;
    struct pairs node_selector;
};
struct ej_replica {
    uint32_t replicas, restart_count;
    bool has_replicas, has_restart_count, auto_scale;
    const char *priority, *critical;
    struct ej_pod pod;
    bool has_pod;
};
struct ej_spec {
    struct ej_metadata metadata;
    const char *strategy, *optimize;
    bool suspend, suspended, has_suspend, has_suspended;
    struct ej_replica types[EJ_TYPE_N];
    bool has[EJ_TYPE_N];
};
struct ej_pod_group {
    struct ej_metadata metadata;
    uint32_t min;
    bool used;
    const struct text_node *node;
};
extern const struct field ej_job_fields[], ej_pod_group_fields[], ej_annotation_fields[];

#endif
