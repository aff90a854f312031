/* A v1 configuration as its author wrote it, decoded and checked, before it becomes a canonical
 * job. Internal to this folder. */
#ifndef DIALECT_OPENPAI_V1_H
#define DIALECT_OPENPAI_V1_H

#include "dialect/dialect.h"

#define V1_CODE_LIMIT 200000000u /* bytes of codeDir */
#define V1_SHM_MB     64
#define V1_LABEL_HTTP "http"
#define V1_LABEL_SSH  "ssh"
#define V1_EXTRA      "openpai" /* our part of job_spec.extra */
#define V1_CONVENTION "openpai-v1"

struct v1_field;

/* First member of every record: where it was written and which of its fields could not be read. */
struct v1_position {
    const struct text_node *node;
    const char *path; /* "taskRoles[0]"; "" at the root */
    const struct v1_field *fields;
    uint32_t bad; /* bit i: fields[i] was given and is wrong, or is missing */
};

struct v1_count { /* a number or null */
    bool null;
    int64_t n;
};
struct v1_list {
    void *at;
    size_t n;
};

struct v1_port {
    struct v1_position at;
    const char *label;
    int64_t begin_at, number;
};
struct v1_role {
    struct v1_position at;
    const char *name, *command;
    int64_t tasks, cpu, memory_mb, shm_mb, gpu;
    struct v1_list ports; /* struct v1_port */
    struct v1_count min_failed, min_succeeded;
};
struct v1_job {
    struct v1_position at;
    const char *name, *image, *auth_file, *data_dir, *output_dir, *code_dir, *queue, *gpu_type;
    struct v1_list roles; /* struct v1_role */
    int64_t retry;
    int64_t kill_all; /* no effect since v0.7; kept for the variable of that time */
    const struct text_node *envs, *extras; /* maps or NULL */
};

/* Every field by the table of the format, then the rules between fields. All problems in report;
 * the result is usable only when report_ok(). Never NULL. */
struct v1_job *v1_decode(struct arena *, const struct text_node *root, const struct site *,
                         struct report *);
/* The rules between fields (check.c); called by v1_decode. */
void v1_check(const struct v1_job *, const struct site *, struct report *);

/* The field was read (given and right, or left out with a default). */
bool v1_sound(const struct v1_position *, const char *key);
/* The place of a field's value, or of its record when it was left out. */
struct place v1_place(const struct v1_position *, const char *key);
const char *v1_path(struct arena *, const struct v1_position *, const char *key);
/* A value as a message shows it: "64", "\"a b\"", "null", "a list". */
const char *v1_shown(struct arena *, const struct text_node *);

/* retryCount as the canonical retry rules (scope and classes; back-off is left as it is). */
void v1_retry(int64_t retry_count, struct retry *);

/* The dialect's functions, see dialect.h. */
int v1_detect(const struct text_node *root);
struct job_spec *v1_read(struct arena *, const struct text_node *root, const struct site *,
                         struct report *);
struct job_spec *v1_shape(struct arena *, const struct job_spec *, struct report *);
struct text_node *v1_write(struct arena *, const struct job_spec *, struct report *);
void v1_env(struct arena *, const struct job_spec *, const struct job_place *, uint32_t flat,
            const struct site *, struct pairs *out);
struct end_words v1_classify(const struct job_spec *, const struct ending *);
const char *v1_job_word(enum job_state, bool any_task_running);
const char *v1_task_word(enum task_state);

#endif
