/* A CreateJob body as its author wrote it, decoded, before it becomes a canonical job. Internal to
 * this folder. */
#ifndef DIALECT_DLC_CREATE_H
#define DIALECT_DLC_CREATE_H

#include "dialect/dialect.h"
#include "job/field.h"

#define DLC_EXTRA          "dlc"   /* our part of job_spec.extra, and the convention */
#define DLC_SLOTS          "Slots" /* in extra.dlc: ranks of each of MPI's hosts, no field of DLC */
#define DLC_LAUNCHER_WORKS "LauncherWorks" /* in extra.dlc: ranks run on MPI's launcher too */
#define DLC_FIRST_WORKER   "FirstWorker"   /* in extra.dlc: the master was the first Worker */
#define DLC_MPI_HOSTS      "/etc/mpi/hostfile"
#define DLC_MPI_AGENT      "/etc/mpi/kubexec.sh"
#define DLC_MPI_TMP        "/etc/mpi/tmp"
#define DLC_SHEBANG        "#!/bin/bash\n" /* in front of a SlurmJob's command, in its script */
#define DLC_ENVS_MAX       20u
#define DLC_PYTORCH_PORT   23456u
#define DLC_LABEL_MASTER   "master" /* labels of ports */
#define DLC_LABEL_TF       "tf"
#define DLC_LABEL_CUSTOM   "custom"

/* ---- kinds of jobs ---- */

enum dlc_type_flags {
    DLC_PROMOTES = 1,  /* without a Master the first Worker is the master */
    DLC_ANY_ROLE = 2,  /* roles have any name */
    DLC_EVERY_PORT = 4 /* every task has the port, not only the first */
};
enum dlc_role_flags {
    DLC_ROLE_ONE = 1,     /* at most one pod */
    DLC_ROLE_SERVES = 2,  /* the job's end does not wait for it */
    DLC_ROLE_DECIDES = 4, /* its success is the job's */
    DLC_ROLE_PREFIX = 8,  /* and "Type-anything" */
    DLC_ROLE_MANY = 16,   /* AutoScalingSpec is honoured */
};
struct dlc_role_kind {
    const char *type; /* "Worker" */
    unsigned flags;
};
#define DLC_ROLES_MAX 6
struct dlc_type {
    const char *name;      /* "PyTorchJob"; NULL ends the table */
    const char *alias;     /* another spelling, or NULL */
    const char *framework; /* canonical; NULL: cannot run here */
    unsigned flags;
    const char *label; /* of the port that peers meet at; NULL: none */
    uint32_t port;     /* its usual number */
    const char *web;   /* label of a second port of the first task, or NULL */
    uint32_t web_port;
    const char *reason; /* why it cannot run here, when framework is NULL */
    struct dlc_role_kind roles[DLC_ROLES_MAX + 1];
};
const struct dlc_type *dlc_type_list(void);
/* By name or alias; exact, or whatever the case of its letters. NULL when unknown. */
const struct dlc_type *dlc_type_find(const char *name, bool any_case);
/* The type a canonical job was made with (extra.dlc.JobType); NULL when it names none. */
const struct dlc_type *dlc_type_of(const struct job_spec *);
/* The row of a role, NULL when jobs of this type have none of that name. */
const struct dlc_role_kind *dlc_role_find(const struct dlc_type *, const char *type);

/* ---- the records ---- */

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

/* Where the resources come from, as far as the text says. */
enum dlc_origin { DLC_PUBLIC = 1, DLC_QUOTA = 2, DLC_SPOT = 4, DLC_LINGJUN = 8 };
unsigned dlc_origin_of(const struct dlc_create *);

/* ---- saying what is wrong: paths of the CreateJob body ---- */
struct place dlc_place(const struct dlc_create *, const char *path);
/* The value at the path, NULL when it was not written. */
const struct text_node *dlc_node(const struct dlc_create *, const char *path);
struct problem *dlc_error(const struct dlc_create *, struct report *, const char *path,
                          const char *fmt, ...) __attribute__((format(printf, 4, 5)));
struct problem *dlc_warn(const struct dlc_create *, struct report *, const char *path,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* near, unless NULL, is certain to be what the value of the problem was meant to be. */
void dlc_fix(const struct dlc_create *, struct report *, struct problem *, const char *near);
/* Given and not empty: no null, false, "", {}, []. */
bool dlc_given(const struct text_node *);

/* ---- steps of reading ---- */

/* Values that are still "<what to put here>". Returns their number. */
size_t dlc_placeholders(const struct dlc_create *, struct report *);
/* Rules between fields. */
void dlc_check(const struct dlc_create *, struct report *);
/* The table of conditions (origin x field), for an origin that may be better known than from the
 * text alone. */
void dlc_conditions(const struct dlc_create *, unsigned origin, struct report *);
/* Fields that have no effect here: a warning or an error each; what the canonical job cannot carry
 * is copied into keep. */
void dlc_notices(const struct dlc_create *, struct text_node *keep, struct report *);

/* Settings.AdvancedSettings. */
struct dlc_advanced_settings {
    bool services; /* createSvcForAllWorkers */
    struct port_request *ports;
    size_t n_ports; /* customPortList, customPortNumPerWorker */
};
void dlc_advanced_read(const struct dlc_create *, struct dlc_advanced_settings *, struct report *);
/* Settings.ErrorMonitoringArgs as retry rules; what has no effect here is warned about. */
void dlc_monitor_read(const struct dlc_create *, struct retry *, struct report *);

/* Quantities of ResourceConfig: "4" cores, "4Gi". False when it is none. */
bool dlc_memory(const char *text, uint64_t *bytes);

/* A parameter file as a CreateJob body, with what its paths are called there. */
struct dlc_names;
bool dlc_is_params(const struct text_node *root);
struct text_node *dlc_params_tree(struct arena *, const struct text_node *root, struct report *,
                                  struct dlc_names **);
/* Problems of the body, in the file's words. */
void dlc_params_report(const struct dlc_names *, const struct report *from, struct report *into);

/* The dialect's functions, see dialect.h. */
struct job_spec *dlc_read(struct arena *, const struct text_node *root, const struct site *,
                          struct report *);
struct job_spec *dlc_shape(struct arena *, const struct job_spec *, struct report *);
struct text_node *dlc_write(struct arena *, const struct job_spec *, struct report *);
void dlc_environment(struct arena *, const struct job_spec *, const struct job_place *,
                     uint32_t flat, const struct site *, struct pairs *out);
const char *dlc_host(struct arena *, const struct dialect_task *);
const struct dialect_file *dlc_files(struct arena *, const struct job_spec *,
                                     const struct job_place *, const struct site *, size_t *n);
/* An MPI job whose launcher was its first worker, as such jobs are read. */
bool dlc_launcher_works(const struct job_spec *);
/* A job of any type whose master was its first worker. */
bool dlc_first_worker(const struct job_spec *);
const char *dlc_first_worker_mark(const struct dlc_type *); /* what says so in extra.dlc */
/* Is name set by the system for jobs of this type (a value of the job's own is not used)? */
bool dlc_env_reserved(const struct dlc_type *, const char *name);
struct end_words dlc_classify(const struct job_spec *, const struct ending *);
const char *dlc_job_word(enum job_state, bool any_task_running);
const char *dlc_held_word(enum job_outcome);
const char *dlc_task_word(enum task_state);

#endif
