/* A CreateJob body as its author wrote it, decoded, before it becomes a canonical job. Internal to
 * this folder. */
#ifndef DIALECT_DLC_CREATE_H
#define DIALECT_DLC_CREATE_H

#include "job/field.h"
#include "job/job.h"

#define DLC_ENVS_MAX 20u

struct dlc_type;
struct dlc_resource {
    const char *cpu, *gpu, *memory, *shared_memory, *gpu_type;
};
struct dlc_image_config {
    const char *registry, *username, *password, *auth;
};
struct dlc_bid {
    const char *strategy, *price;
    uint64_t discount_milli;
    bool has_discount;
};
struct dlc_assign {
    bool enable;
    const char *names;
    const struct text_node *anti, *hyper;
};
struct dlc_local_mount {
    const char *from, *at, *mode;
};
struct dlc_dependency {
    const char *type, *phase;
    uint32_t min;
};
struct dlc_scaling {
    uint32_t min, max;
    const struct text_node *other;
};
struct dlc_spec {
    const char *type, *image, *ecs_spec, *restart;
    struct place place;
    struct dlc_image_config image_config;
    uint32_t pods;
    struct dlc_resource resource;
    bool use_spot, is_chief, considered;
    struct dlc_bid spot;
    struct dlc_assign assign;
    struct dlc_local_mount *mounts;
    size_t n_mounts;
    struct dlc_dependency *after;
    size_t n_after;
    struct dlc_scaling scaling;
    const struct text_node *other; /* fields that notices.c speaks of */
};
struct dlc_source {
    const char *id, *uri, *at, *version, *access;
    const struct text_node *other;
};
struct dlc_code {
    const char *id, *branch, *commit, *at;
    bool shared;
};
struct dlc_vpc {
    const char *vpc, *vswitch, *group, *route;
    struct words cidrs;
};
struct dlc_env {
    const char *key, *value;
    bool visible;
};
struct dlc_settings {
    const struct text_node *advanced;
    const char *business_user, *caller, *pipeline, *oversold, *sanity_args, *monitor_args;
    struct pairs tags;
    bool monitor, sanity, affinity, preemptible;
    uint32_t reserved_minutes, grace_s;
    bool has_grace;
    const char *reserved_policy;
    const struct text_node *other;
};
struct dlc_create {
    const struct text_node *root;
    const struct catalogue *catalogue; /* of the server that reads; may be NULL */
    const struct dlc_type *type;       /* NULL when unknown */
    const char *name, *job_type, *command, *workspace, *resource, *lib_dir, *success, *access,
        *description, *strategy;
    struct dlc_spec *specs;
    size_t n_specs;
    uint32_t priority;
    bool has_priority;
    struct dlc_source *sources;
    size_t n_sources;
    struct dlc_code code;
    struct pairs envs;
    struct dlc_env *custom_envs;
    size_t n_custom_envs;
    struct words libs;
    struct dlc_vpc vpc;
    uint64_t max_minutes;
    bool has_max_minutes;
    struct dlc_settings settings;
    const struct text_node *other;
};
extern const struct field dlc_create_fields[];

#endif
