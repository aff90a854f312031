/* A job of protocol version 2 (YAML, releases v0.13 to v1.8) as its author wrote it, decoded,
 * before it becomes a canonical job. Internal to this folder. */
#ifndef DIALECT_OPENPAI_V2_H
#define DIALECT_OPENPAI_V2_H

#include "dialect/dialect.h"
#include "dialect/document_place.h"
#include "job/field.h"

#include <string.h>

#define V2_CONVENTION "openpai-v2"
#define V2_EXTRA      "openpai-v2" /* our part of job_spec.extra */
#define V2_SHM_MB     512
#define V2_STORAGE    "storage://" /* in front of a storage's name: prefix of a root of the server */
#define V2_SECRET     "PAI_SECRET_" /* in front of the variable of a secret */
/* What every command begins with, as there (v1.x), and a first command that says not to. */
#define V2_STRICT     "set -o errexit -o nounset -o pipefail\n"
#define V2_NOT_STRICT "set +o errexit +o nounset +o pipefail"

/* ---- records of the field tables (v2_fields.c) ---- */

struct v2_count {
    bool given;
    int64_t n;
};
struct v2_prerequisite {
    const char *name, *type;
    struct place place;
};
struct v2_role {
    const char *name;
    uint32_t instances;
    struct v2_count min_failed, min_succeeded, retry;
    const char *image, *data, *output, *script;
    struct words prerequisites, commands;
    uint32_t shm_mb, cpu, memory_mb, gpu;
    bool has_shm;
    struct port_request *ports;
    size_t n_ports;
    struct place place;
};
struct v2_steps { /* of one role of a deployment */
    const char *name;
    struct words before, after;
    struct place place;
};
struct v2_deployment {
    const char *name;
    struct v2_steps *roles;
    size_t n_roles;
    struct place place;
};
struct v2_storage {
    const char *name, *at;
    struct place place;
};
struct v2_plugin {
    const char *plugin, *on_failure;
    struct words roles;
    struct place place;
};
#define V2_PLUGINS "com.microsoft.pai.runtimeplugin"
const char *v2_plugin_name(const char *full); /* without V2_PLUGINS in front */
struct v2_hived_role {
    const char *name, *sku_type;
    struct place place;
};
struct v2_extras {
    bool gang, has_storages;
    uint32_t priority; /* 0: not said */
    struct v2_hived_role *hived;
    size_t n_hived;
    struct v2_plugin *plugins;
    size_t n_plugins;
    struct v2_storage *storages;
    size_t n_storages;
    bool running, succeeded, stopped, failed, retried; /* notifications */
};
struct v2_job {
    const char *name, *description, *queue, *deployment;
    uint32_t retry;
    struct v2_prerequisite *prerequisites;
    size_t n_prerequisites;
    struct v2_role *roles;
    size_t n_roles;
    struct v2_deployment *deployments;
    size_t n_deployments;
    struct v2_extras extras;
};
extern const struct field v2_job_fields[];
/* Keys of open maps that are likely slips of known ones: warnings. */
void v2_slips(const struct text_node *root, struct report *);

/* ---- reading ---- */

struct v2_reader {
    struct arena *arena;
    struct report *report;
    struct v2_job *doc;
    struct document_place root;
    const struct v2_deployment *deployment; /* the chosen one, or NULL */
    struct job_spec *job;
};
/* Names that are there twice or not at all, templates where none are read (v2_check.c). */
void v2_check(struct v2_reader *);
/* The prerequisite and its place; NULL when there is none of that type. type NULL: of any. */
const struct v2_prerequisite *v2_prerequisite(const struct v2_reader *, const char *type,
                                              const char *name, struct document_place *at);

/* ---- templates (v2_template.c) ---- */

/* What secrets became: variables of the role. */
struct v2_scope {
    const struct v2_reader *r;
    const struct v2_role *role;
    struct pairs *env;       /* the role's: secrets are added */
    struct text_node *names; /* map: variable -> "registry.password" */
    struct words used;       /* variables of this command, each once */
};
struct v2_shell;
/* text with its references replaced, behind out; a reference that cannot be is an error at the
 * spot. Secrets become variables; how they are written depends on what the shell has read. */
struct buf;
void v2_render(struct v2_scope *, struct document_place, const char *text, struct v2_shell *,
               struct buf *out);
/* References in a text that is no command: `<% $secrets... %>` only, nothing is replaced. */
void v2_check_auth(const struct v2_reader *, struct document_place);

/* Where in a text of bash the next character stands (v2_shell.c). */
enum v2_shell_state {
    V2_BARE,
    V2_SINGLE,
    V2_DOUBLE,
    V2_COMMENT,
    V2_HERE,        /* here-document: variables are replaced */
    V2_HERE_QUOTED, /* nothing is */
};
struct v2_shell {
    enum v2_shell_state in;
    bool escaped, word; /* word: the character before belongs to a word */
    int here;           /* how much of "<<WORD" was read */
    bool here_quoted, here_tabs;
    char quote, end[64], line[64];
    size_t end_len, line_len;
    bool line_long;
};
void v2_shell_feed(struct v2_shell *, const char *text);

/* The whole text of a role's task, and the variables of its secrets (v2_command.c). */
const char *v2_command(struct v2_reader *, const struct v2_role *, struct role *,
                       struct text_node *secret_names);
/* Plugins and callbacks of prerequisites that cannot be honoured: reported (v2_command.c). */
void v2_plugins(struct v2_reader *);

/* retryCount of tasks or of the job as canonical rules. */
struct retry;
void v2_retry(int64_t n, bool of_tasks, struct retry *);

/* ---- the dialect's functions, see dialect.h ---- */
int v2_detect(const struct text_node *root);
struct job_spec *v2_read(struct arena *, const struct text_node *root, const struct site *,
                         struct report *);
struct job_spec *v2_shape(struct arena *, const struct job_spec *, struct report *);
struct text_node *v2_write(struct arena *, const struct job_spec *, struct report *);
void v2_env(struct arena *, const struct job_spec *, const struct job_place *, uint32_t flat,
            const struct site *, struct pairs *out);
struct end_words v2_classify(const struct job_spec *, const struct ending *);
const char *v2_job_word(enum job_state, bool any_task_running);

#endif
