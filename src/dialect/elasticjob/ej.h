/* An ElasticJob as its author wrote it, decoded, before it becomes a canonical job. Internal to
 * this folder. */
#ifndef DIALECT_ELASTICJOB_EJ_H
#define DIALECT_ELASTICJOB_EJ_H

#include "dialect/dialect.h"
#include "job/field.h"

#include <string.h>

#define EJ_API        "elastic.iml.github.io/v1alpha1"
#define EJ_GROUP      "elastic.iml.github.io/"
#define EJ_KIND       "ElasticJob"
#define EJ_CONVENTION "elasticjob"
#define EJ_EXTRA      "elasticjob" /* our part of job_spec.extra */
#define EJ_PODS       "pods"       /* in it: labels and annotations of the templates, by role */
#define EJ_MASTER     "dlrover-master"
#define EJ_GANG       "gang.scheduling.koordinator.sh/"
#define EJ_POD_GROUP  "pod-group.scheduling.sigs.k8s.io"
#define EJ_PORT       "service" /* label of the port that other tasks reach a task at */

/* ---- records of the field tables (fields.c) ---- */

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
enum ej_type { EJ_PS, EJ_CHIEF, EJ_WORKER, EJ_EVALUATOR, EJ_TYPE_MASTER, EJ_TYPE_N };
enum { EJ_ROLES_N = EJ_TYPE_MASTER }; /* those that run something */
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
const char *ej_type_word(enum ej_type);

/* ---- reading ---- */

enum ej_strategy { EJ_ALLREDUCE, EJ_PARAMETER_SERVER, EJ_CUSTOM, EJ_LOCAL };

/* Where in the document: for problems that are found after decoding. */
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

/* The documents of a text: the one ElasticJob (NULL: reported) and the PodGroups beside it. */
const struct text_node *ej_documents(struct ej_reader *, const struct text_node *root);

/* The template of a type as a role: program, environment, resources, mounts (pod.c, volume.c). */
void ej_pod_role(struct ej_reader *, enum ej_type, struct role *);
void ej_volumes(struct ej_reader *, enum ej_type, const struct ej_container *, struct role *);
/* Secrets that variables, all variables or a mounted volume are of (secrets.c). */
void ej_secret_env(const struct ej_reader *, struct role *, const struct ej_env *, struct ej_place);
void ej_secrets_from(const struct ej_reader *, struct role *, const struct ej_container *,
                     struct ej_place list);
void ej_secret_volume(const struct ej_reader *, struct role *, const struct ej_volume_mount *,
                      const struct ej_secret_volume *, struct ej_place);
/* The container that gets the environment: named main, or the first. NULL when there is none. */
const struct ej_container *ej_main_container(const struct ej_pod *, size_t *position);
/* Does text refer to a variable by $(NAME), and where (at the '$'); *len: of the whole reference.
 * $$ is no reference. NULL: no more. */
const char *ej_reference(const char *text, size_t *len);
/* Variables that the convention gives every task; they win over the job's own. */
bool ej_own_variable(const char *name);

/* What the command says of rendezvous (command.c). 0: not said. */
struct ej_nnodes {
    uint32_t min, max, unit;
};
struct ej_nnodes ej_nnodes(const struct role *, uint32_t replicas);

/* Gangs of the templates' annotations; checks them against the command (gang.c). Called when all
 * roles are there; types: of job->roles. */
void ej_gangs(struct ej_reader *, const enum ej_type *types);
/* The job's annotations that the controller hands to the master (annotations.c). */
void ej_annotations(struct ej_reader *);

/* ---- the dialect's functions, see dialect.h ---- */
int ej_detect(const struct text_node *root);
struct job_spec *ej_read(struct arena *, const struct text_node *root, const struct site *,
                         struct report *);
struct job_spec *ej_shape(struct arena *, const struct job_spec *, struct report *);
struct text_node *ej_write(struct arena *, const struct job_spec *, struct report *);
void ej_env(struct arena *, const struct job_spec *, const struct job_place *, uint32_t flat,
            const struct site *, struct pairs *out);
const char *ej_expand(struct arena *, const struct dialect_task *, const struct pairs *known,
                      const char *value);
struct end_words ej_classify(const struct job_spec *, const struct ending *);
const char *ej_job_word(enum job_state, bool any_task_running);
const char *ej_task_word(enum task_state);

extern const struct pod_words ej_pods; /* pods.c */
/* The pod's number: its index, and more with every relaunch. */
uint32_t ej_pod_id(const struct role *, const struct task_place *);
const char *ej_pod_name(struct arena *, const struct job_spec *, const struct task_place *);

/* The annotations that say a role's gang and topology, as Koordinator writes them (pods.c). */
void ej_gang_notes(struct arena *, const struct job_spec *, const struct role *, struct pairs *out);
/* What the templates of a role had of its own, "labels" or "annotations"; NULL: nothing. */
const struct text_node *ej_pod_metadata(const struct job_spec *, const char *role, const char *key);
/* Our part of job->extra: texts and flags by key; NULL or false when absent. */
const char *ej_extra_text(const struct job_spec *, const char *key);
bool ej_extra_flag(const struct job_spec *, const char *key);

/* A row of the exit classes. */
struct ej_exit {
    int code;           /* of the container; the row of EJ_EXIT_OTHER is for all others */
    const char *phrase; /* DLRover's node exit reason */
    enum end_class class, unless_always; /* unless_always: when workers are not always relaunched */
    const char *text;
};
#define EJ_EXIT_OTHER 1000
const struct ej_exit *ej_exits(size_t *n);

#endif
