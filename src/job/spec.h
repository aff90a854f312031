/* The canonical job as a struct: all that the front ends can say (doc/job.md comes from its field
 * tables). Everything lives in the arena it was decoded into and is read-only once checked. */
#ifndef JOB_SPEC_H
#define JOB_SPEC_H

#include "base/pairs.h"
#include "job/array.h"
#include "job/end_class.h"
#include "job/runtime.h"
#include "job/secret.h"
#include "job/words.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_MAX_TASKS 65536u
#define JOB_MAX_ROLES 256u
#define JOB_NAME_MAX  128u
#define JOB_PRIORITY  9u /* the highest */
#define CODE_ARCHIVE  "sha256:"

/* A count with words: never (0 of them), a number, always / all. */
enum count_kind {
    COUNT_UNSET,
    COUNT_NUMBER,
    COUNT_NEVER,
    COUNT_ALWAYS /* "always"; "all" for done.succeeded, "at_end" for done.failed */
};
struct count {
    enum count_kind kind;
    uint32_t n; /* COUNT_NUMBER */
};

struct amount { /* of a custom resource */
    const char *name;
    uint64_t milli;
};
struct amounts {
    struct amount *at;
    size_t n;
};

struct opt_u64 {
    bool has;
    uint64_t value;
};

/* ---- retry: how ends are classed and what follows ---- */
enum retry_scope { RETRY_SCOPE_JOB, RETRY_SCOPE_ROLE, RETRY_SCOPE_TASK, RETRY_SCOPE_N };
struct retry {
    enum retry_scope scope; /* default task in native */
    struct count platform, conflict, unknown, user, success;
    bool platform_counted; /* platform retries use up the same budget as unknown */
    uint32_t per_node;     /* failures of a task on a node, after which it is avoided; 0: never */
    uint64_t backoff_ms, backoff_max_ms; /* conflict: doubled; default 1 s .. 60 s */
};

/* ---- roles ---- */
struct port_request {
    const char *label;
    uint32_t count; /* 1.. */
    uint32_t first; /* 0: any; else the range [first, first+count-1] on every task */
    bool prefer;    /* with first: any free ports where the range is taken */
};
struct resources {                         /* per task */
    uint64_t cpu_milli, memory, shm, disk; /* bytes; 0: not said */
    uint64_t gpu_milli;     /* <1000: a share of one device; else a multiple of 1000 */
    struct words gpu_types; /* any of; empty: any */
    struct amounts custom;  /* licences and the like */
};
struct done {            /* completion policy of a role */
    struct count failed; /* NUMBER n: n failed tasks fail the job; ALWAYS: one, at the end; NEVER */
    struct count succeeded; /* NUMBER n: n succeeded tasks succeed the job; ALWAYS ("all"): all
                               tasks of the job; NEVER: the job's end does not wait for the role.
                               default all */
};
struct launcher { /* settings of the elastic launcher inside a task */
    uint32_t ranks_per_node, max_restarts, node_unit;
    bool has_ranks_per_node, has_max_restarts, has_node_unit, node_check;
};
bool job_launcher_set(const struct launcher *); /* does the role say anything of it? */
struct role {
    const char *name;
    struct place place;
    uint32_t replicas;  /* tasks now, spares included; = max when elastic */
    uint32_t min;       /* = replicas unless {min, max} was given or there are spares */
    uint32_t spares;    /* of replicas: so many more than work at a time */
    uint32_t per_group; /* tasks that share a node: index i is in group i / per_group; 0: none */
    bool driver;
    struct words after; /* roles that must run first */
    const char *run;    /* shell text, run by bash -c (or NULL) */
    struct words argv;  /* or a program with arguments, no shell */
    const char *python; /* or a Python entrypoint: module.function, module.Class, script.py ARGS */
    struct launcher launcher;
    const char *image;
    struct resources resources;
    struct pairs env;
    struct job_secrets secrets;
    struct port_request *ports;
    size_t n_ports;
    struct done done;
    enum retry_scope restart_scope;
    bool has_restart_scope;
    bool open_stdin, tty; /* tasks read what attached clients type; tty: on their own terminal */
    const char *run_as;
};

/* Groups of tasks that share a node; without per_group each task is one. */
static inline uint32_t job_groups(const struct role *role)
{
    return role->per_group ? role->replicas / role->per_group : role->replicas;
}

/* ---- parts ---- */
#define JOB_AFTER_MAX 256
struct job_dependency {
    uint64_t job;
    const char *job_name;
    const char *ended; /* well | badly | any */
    const char *match; /* all: of an array its last member too; index: the one of equal index;
                        * every: all of that name that have not ended */
};
/* Of its name (NULL and no number: of the job's own) all that have not ended. */
static inline bool job_after_every(const struct job_dependency *after)
{
    return !after->job && after->match && strcmp(after->match, "every") == 0;
}
struct gang {
    const char *name;
    struct words roles;
    uint32_t min;      /* tasks; 0: all */
    struct words with; /* gangs of other jobs, PROJECT/NAME: all start together or none */
};
struct colocate {
    struct words roles;
    struct pairs shares;
};
#define PLACING_OWN_TO_COME UINT64_MAX
struct placing {
    struct colocate *together;
    size_t n_together;
    struct words nodes, avoid, spread, pack, apart; /* node names twice; roles */
    struct pairs labels;
    struct words tolerations;
    const char *within; /* topology level */
    const char *engine; /* whose nodes alone; NULL: of any */
    uint64_t own;       /* the job's id while it has an allocation of its own, whose nodes it uses
                           alone; PLACING_OWN_TO_COME: it has none and uses no other nodes; 0: it
                           has none. In no field: the core's */
    bool within_required, pin_cpus;
};
struct mount {
    const char *from, *at;
    bool read_only;
    struct place place;
};
struct code {
    const char *dir;      /* directory (path or file: URI) staged read-only under its own name */
    const char *git, *at; /* url and branch, tag or commit */
    const char *archive;  /* CODE_ARCHIVE and 64 hex digits: uploaded; tasks start in it */
    const char *path;     /* where tasks find it, absolute; NULL: in the working directory */
    uint64_t limit;       /* bytes; 0: none (OpenPAI: 200 000 000) */
};
struct inputs {
    struct code code;
    struct mount *data;
    size_t n_data;
    const char *interpreter;       /* Python whose packages the tasks see; NULL: the server's */
    struct words python;           /* packages */
    const char *requirements;      /* file */
    struct job_secrets secrets;    /* of all roles */
    const char *registry_auth;     /* file of credentials: path or URI */
    struct registry_login *logins; /* of the text; in no field */
    size_t n_logins;
};
struct health {
    bool check_before_start;
    struct opt_u64 hang_after_ms;
    uint64_t silent_after_ms; /* 0: never */
    const char *on_fault;
    bool debug_hold;
};
struct limits {
    struct opt_u64 run_time_ms, pending_ms;
    uint64_t grace_ms;      /* default 10 s */
    uint64_t hold_ms;       /* resources kept after the end */
    const char *hold_when;  /* always | success | failure */
    struct opt_u64 keep_ms; /* record kept; default 30 d; absent: server's */
};
enum capacity_class { CAPACITY_GUARANTEED, CAPACITY_ANY, CAPACITY_IDLE, CAPACITY_N };

struct job_spec {
    /* identity */
    const char *name, *project, *description;
    struct pairs labels;
    /* admission */
    const char *queue;
    uint32_t priority; /* 1..9, 9 first; default 5 */
    bool suspend;
    struct job_dependency *after;
    size_t n_after;
    struct job_array array;
    enum capacity_class capacity;
    bool preemptible;
    uint64_t spot_bid_milli;
    struct gang *gangs; /* none: one gang of all roles, their minimum */
    size_t n_gangs;
    struct limits limits;
    struct retry retry;
    struct role *roles;
    size_t n_roles;
    struct placing placing;
    struct inputs inputs;
    const char *output;
    const char *framework;
    struct health health;
    enum job_runtime runtime;
    enum server_right { SERVER_OWN_JOB, SERVER_SUBMIT } server; /* of its programs */
    const struct text_node *config;                             /* free */
    struct words notify;
    struct words conventions;      /* "openpai-v1", "pytorch" ... */
    const struct text_node *extra; /* free values a dialect needs back: conventions, conversions */
};

/* A role for counts: total tasks of the job (sum of replicas), flat position of a task (roles in
 * order) and back. */
uint32_t job_task_count(const struct job_spec *);
uint32_t job_task_flat(const struct job_spec *, uint32_t role, uint32_t index);
const struct role *job_role(const struct job_spec *, const char *name,
                            uint32_t *position); /* NULL when unknown */

#endif
