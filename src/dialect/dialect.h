/* The contract of a front end: foreign text <-> canonical job, and the conventions (environment,
 * exit classes, words) that a job keeps for its life. Pure: no files, no clock, no server. */
#ifndef DIALECT_DIALECT_H
#define DIALECT_DIALECT_H

#include "base/pairs.h"
#include "base/report.h"
#include "job/catalogue.h"
#include "job/ending.h"
#include "job/job.h"
#include "job/place.h"
#include "job/state.h"
#include "job/unfit.h"
#include "text/tree.h"

/* What a front end may know of the place it runs at. */
struct site {
    const char *owner;    /* submitter */
    const char *fs_uri;   /* $PAI_DEFAULT_FS_URI: "file:///home/ada/.local/state/muster/fs" */
    const char *work_dir; /* where tasks start when known, else NULL */
    const struct catalogue *catalogue; /* what its server knows by name; NULL: no server is asked */
    const char *program, *state_dir;   /* muster itself and its server, for tasks; NULL: unknown */
};

/* A kind of document that a dialect reads, for who describes it to others. */
struct field;
struct dialect_kind {
    const char *kind; /* NULL ends the list */
    const struct field *fields;
};

struct dialect {
    const char *name;      /* "openpai-v1": --from, origin, conventions */
    const char *title;     /* "openpai v1": shown */
    const char *looks_for; /* what marks its texts: "jobName and taskRoles"; said when no dialect
                              knows a text. May be NULL */
    /* How sure: 0 not mine .. 100 certainly; from the parsed tree (root may be NULL when the text
     * did not parse). */
    int (*detect)(const struct text_node *root);
    /* All problems in report (with places); NULL when it has errors. The job lives in arena. */
    struct job_spec *(*read)(struct arena *, const struct text_node *root, const struct site *,
                             struct report *);
    /* The job with the roles that this format would have for it: under its names, split or joined
     * as its reader has them; a note in report for each that changes. Roles without a place stay as
     * they are. May return the job itself. NULL: roles keep their names. */
    struct job_spec *(*shape)(struct arena *, const struct job_spec *, struct report *);
    /* Tree of a shaped job in this dialect's format (YAML or JSON as yaml says). What is said
     * otherwise than the job has it may be told here for a canonical field: a note in report when
     * the same is meant, a warning when something is lost; dialect_convert() finds the rest. NULL:
     * this dialect only reads. */
    struct text_node *(*write)(struct arena *, const struct job_spec *, struct report *);
    bool yaml;
    bool script;     /* its texts are scripts: root is one text (text/detect.h), read and written */
    bool queues;     /* a job larger than the cluster waits for one that holds it */
    bool catalogued; /* projects and one-word images are names of the server's catalogue: unknown
                        ones are refused */
    bool images;     /* its tasks run in images, and a Python comes with those */
    bool unique_names; /* a user has one live job of a name */
    bool documents; /* also reads a YAML text of several documents: root is then a list of them */
    /* NULL-terminated dotted paths whose values are secret ("jobEnvs.*", a."key.with.dots"): masked
     * in the kept text for others than the owner. */
    const char *const *secrets;
    /* Those of them that are nobody's to read again, and that no decision about the job depends on:
     * passwords of registries. May be NULL. */
    const char *const *credentials;
    const struct dialect_kind *kinds; /* may be NULL */
};

/* How a system that runs tasks as pods shows them, in the words of its tools. */
struct pod_words {
    const char *kind;      /* of the object that stands for the job: "ElasticJob" */
    const char *scheduler; /* who says why a pod waits */
    /* The pod of a task's attempt (place: role, index, attempt from 1), in arena. */
    const char *(*name)(struct arena *, const struct job_spec *, const struct task_place *);
    /* The index of the task in its role whose pod has a name that ends with that number. */
    uint32_t (*index)(const struct role *, uint64_t number);
    /* The pod that stands for the server as the job's master, in arena; may be NULL. */
    const char *(*master)(struct arena *, const struct job_spec *);
    void (*labels)(struct arena *, const struct job_spec *,
                   const struct task_place *, /* NULL: of the master */
                   struct pairs *out);
    void (*annotations)(struct arena *, const struct job_spec *, const struct task_place *,
                        struct pairs *out);
    const char *(*status)(enum task_state, const char *phrase); /* phrase: of its end, may be "" */
    /* Why no node takes the next pod, in arena. */
    const char *(*unfit)(struct arena *, const struct unfits *);
    /* The same for members of a gang of which one has no place. */
    const char *(*rejected)(struct arena *, const struct job_spec *, const struct unfits *);
};

/* Words for one end, from the convention's exit table. */
struct end_words {
    enum end_class class;
    int code;           /* the foreign exit code ("-7110", 137, 255) */
    const char *phrase; /* "CONTAINER_OOM_KILLED_BY_DOCKER" */
    const char *text;   /* one sentence for people, static */
};

/* One task of a placed job, as conventions see it. */
struct dialect_task {
    const struct job_spec *job;
    const struct job_place *place;
    uint32_t flat;
    const struct site *site;
};

/* A file that the tasks of a job find at a fixed place. */
struct dialect_file {
    const char *path, *text; /* text NULL: a folder that they may write in */
    bool program;            /* may be executed */
};

/* Launchers that the tasks' commands find under their usual names. */
enum dialect_launchers {
    LAUNCHER_TORCHRUN = 1 << 0,
    LAUNCHER_DLROVER = 1 << 1,
    LAUNCHER_SLURM = 1 << 2 /* srun and what else a batch script of Slurm finds */
};

struct convention {
    const char *name;     /* "openpai-v1" */
    unsigned launchers;   /* promised to every task */
    bool over_time_stops; /* a job over its run time is stopped; else it has failed */
    bool one_world; /* launchers of all tasks meet; else those of each role among themselves */
    /* Any member but name may be NULL: then the convention adds nothing, or classes nothing (the
     * next one is asked). Adds this task's variables; flat is its position in place->tasks. Called
     * in the order of job->conventions; the job's own env is added last by the caller (it wins). */
    void (*env)(struct arena *, const struct job_spec *, const struct job_place *, uint32_t flat,
                const struct site *, struct pairs *out);
    struct end_words (*classify)(const struct job_spec *, const struct ending *);
    const char *(*job_word)(enum job_state, bool any_task_running); /* "WAITING" */
    /* While the resources of an ended job are still held, instead of job_word. */
    const char *(*held_word)(enum job_outcome);
    const char *(*task_word)(enum task_state);
    const char *secret_variables; /* variables whose names begin so have values that no output is
                                   * to show; NULL: none */
    const struct pod_words *pods; /* NULL: its tasks are no pods */
    /* A value of the role's own env as this task gets it (Kubernetes' $(NAME)), in arena or value
     * itself; known: what the task has so far. */
    const char *(*expand)(struct arena *, const struct dialect_task *, const struct pairs *known,
                          const char *value);
    /* The name under which the job's other tasks look for this one, in arena; NULL: none besides
     * those that every task has (role-index). */
    const char *(*host)(struct arena *, const struct dialect_task *);
    /* The files that every task of the placed job finds, in arena. */
    const struct dialect_file *(*files)(struct arena *, const struct job_spec *,
                                        const struct job_place *, const struct site *, size_t *n);
};

/* The registry: filled once by main, passed down. */
struct dialects {
    const struct dialect *const *at;
    size_t n;
    const struct convention *const *conventions;
    size_t n_conventions;
    const struct convention *native; /* used when a job names none */
};
/* By its name or title; "openpai" stands for the newest of "openpai-v1", "openpai-v2". NULL when
 * absent. */
const struct dialect *dialect_find(const struct dialects *, const char *name);
/* The same for a text: "openpai" stands for the version that the text looks like. */
const struct dialect *dialect_named(const struct dialects *, const char *name,
                                    const struct text_node *root);
/* The surest dialect for the tree, NULL when none knows it. */
const struct dialect *dialect_detect(const struct dialects *, const struct text_node *root);
const struct convention *convention_find(const struct dialects *, const char *name);
/* First convention of the job that classes ends (native when none). */
const struct convention *convention_of(const struct dialects *, const struct job_spec *);

/* How an attempt ended, in the words of that convention; an error of a device has the class that
 * it has in every one (job/device_error.h). */
struct end_words dialect_classify(const struct dialects *, const struct job_spec *,
                                  const struct ending *);

/* Who named a job's interpreter: one of these, or the variable of the submitter that led to it
 * (VIRTUAL_ENV, CONDA_PREFIX, PATH). */
#define PYTHON_BY_OPTION "option"
#define PYTHON_OF_JOB    "job"
#define PYTHON_OF_SERVER "server"
struct dialect_request {
    const char *text;
    size_t len;
    const char *from;         /* dialect name or NULL: detect */
    const char *name, *queue; /* overrides or NULL */
    struct pairs env;         /* --env: added to every role, wins */
    struct words sets;        /* --set a.b=c */
    const char *python;       /* interpreter of the tasks, absolute; NULL: none is known */
    bool python_chosen; /* the submitter named it; else it is for jobs without images that name none
                         */
    const struct site *site;
};
struct dialect_result {
    const struct dialect *dialect;
    struct text_node *root; /* of the original text */
    struct job_spec *job;   /* NULL when report has errors */
};
/* Text -> checked canonical job with the overrides applied (through the native tree). 0, or -1 with
 * report filled; when no dialect fits the report says which were tried and what they look for. */
int dialect_read(const struct dialects *, struct arena *, const struct dialect_request *,
                 struct dialect_result *, struct report *);
/* text with $PAI_DEFAULT_FS_URI (the first), $PAI_JOB_NAME, $PAI_USER_NAME and $PAI_USERNAME
 * replaced; the last three only when no word character follows. What the site does not know stays
 * as written. */
const char *dialect_substitute(struct arena *, const char *text, const char *job_name,
                               const struct site *);
/* The job in the format of a dialect that writes: shaped, then written. */
struct text_node *dialect_write(struct arena *, const struct dialect *, const struct job_spec *,
                                struct report *);
/* The task's complete environment: native's when no convention of the job classes ends, each
 * convention in order, then role env. */
void dialect_env(const struct dialects *, struct arena *, const struct dialect_task *,
                 struct pairs *out);
/* The task's name by one of the job's conventions, of which at counts; NULL when that has none. */
const char *dialect_host(const struct dialects *, struct arena *, const struct dialect_task *,
                         size_t at);
/* The files of the first convention of the job that has any. */
const struct dialect_file *dialect_files(const struct dialects *, struct arena *,
                                         const struct dialect_task *, size_t *n);
/* convention.secret_variables of the first convention of the job that has it; NULL: none has. */
const char *dialect_secret_variables(const struct dialects *, const struct job_spec *);
/* What its conventions promise together. */
unsigned dialect_launchers(const struct dialects *, const struct job_spec *);
/* Is the world of its launchers the whole job, by one of its conventions? */
bool dialect_one_world(const struct dialects *, const struct job_spec *);
/* The original text with the values of secret paths replaced by "***" (same length not kept), in
 * arena. */
const char *dialect_mask(struct arena *, const struct dialect *, const struct text_node *root,
                         const char *text, size_t len);
/* The text with its credentials replaced in the same way: itself when it has none, "" when it is no
 * text of a dialect. from: dialect name or NULL. */
const char *dialect_without_credentials(const struct dialects *, struct arena *, const char *from,
                                        const char *text, size_t len);

#endif
