/* What an agent is told to start: one node's share of one generation, complete (an agent asks
 * nothing back). */
#ifndef JOB_LAUNCH_H
#define JOB_LAUNCH_H

#include "base/pairs.h"
#include "job/account.h"
#include "job/gpu.h"
#include "job/ids.h"
#include "job/job.h"

#include <stdbool.h>
#include <stdint.h>

#define CODE_TRAVELS_MAX (512ull << 20) /* bytes of a directory that is sent to machines */

struct host_name { /* a line of the tasks' /etc/hosts */
    const char *address, *name;
};
struct hosts_text { /* some of them, as agents are sent them */
    const struct hosts_text *next;
    const char *at;
    size_t len;
};
struct bind_mount { /* a directory or file of the node shown at another path */
    const char *from, *at;
    bool read_only;
    bool is_code; /* it shows the directory of the job's code */
};
struct launch_file { /* made in the agent's directory */
    const char *name;
    const char *at; /* len bytes; NULL: it is a directory, for everybody */
    size_t len;
    bool program;
};

/* Values go down beside launches, and again when one is set anew. */
struct launch_secret {
    const char *name; /* no other's in the job */
    const void *at;
    size_t len;
};
struct secret_place { /* what one of them becomes in a task; neither: its output is masked alone */
    const char *name;
    const char *env;  /* the variable; NULL: none */
    const char *file; /* absolute, or below the directory of $MUSTER_SECRETS; NULL: none */
};

enum gpu_grant {
    GPU_GRANT_NONE, /* declared devices */
    GPU_GRANT_WHOLE,
    GPU_GRANT_SHARE, /* with other tasks of its server */
    GPU_GRANT_N
};
struct launch_task {
    struct task_ref ref;
    const char *role; /* name, for logs and paths */
    uint32_t attempt;
    struct pairs env; /* complete, besides PATH additions and HOME, which the exec stage makes */
    const char *run;  /* shell text for `bash -c`; or NULL and argv */
    struct words argv;
    uint32_t *ports; /* to be found free (bind on all interfaces) before the start */
    uint32_t n_ports;
    uint32_t *gpus; /* their files' numbers: /dev/nvidiaN; of declared devices only numbers */
    uint32_t n_gpus;
    struct gpu_part *parts;  /* of each of them, which instance of MIG it is; NULL: none is one */
    enum gpu_grant gpu_hold; /* against other servers of the machine */
    uint64_t cpu_milli;      /* limits; 0: none */
    uint64_t memory;
    uint64_t shm;       /* bytes of a /dev/shm of its own; 0: the machine's */
    uint64_t gpu_milli; /* what it has of its devices; for books, no agent is told */
    uint32_t pids;
    uint32_t cores;       /* bound to so many of its own; 0: not bound */
    const char *image;    /* the task runs in it; NULL: on the host */
    uint64_t run_time_ms; /* 0: none */
    bool hold_failed;     /* keep directory and view after a failure, for exec */
    bool open_stdin, tty; /* as of its role */
    struct secret_place *secrets;
    size_t n_secrets;
};

struct launch {
    struct generation generation;
    uint32_t seq; /* counts elastic changes and task retries of this generation; each adds tasks */
    const char *node;        /* node name */
    unsigned char token[32]; /* raw secret of this agent (never sent to it by the wire: the engine
                              * hands it over); its SHA-256 is what agent rows and engine_known
                              * keep. All zero: keep the one in the agent's directory */
    const char *job_name;
    uint64_t job_number;
    const char *dir; /* the agent's own directory: control and logs; absolute */
    /* What follows comes with the agent's configuration, not with each launch. */
    const struct account *account; /* whose processes the tasks are; NULL: the agent's own */
    const char *user_dir; /* belongs to the account: working directories and environment of the
                             tasks; the same as dir where there is no account */
    uint64_t images_size; /* bytes of all of them; 0: a default */
    const char *images;   /* where the node keeps images of that account */
    const char *archive;  /* code that work_dir is made from, its SHA-256 as its name; NULL: none */
    bool sandbox;         /* tasks have the rights of a container (node/confine.h) */
    const char *work_dir; /* tasks start here (the submitter's directory); NULL: a fresh directory
                             per task */
    const char
        *code_dir; /* staged read-only into the working directory under its own name; NULL: none */
    uint64_t code_limit;    /* bytes; 0: none */
    const char *output_dir; /* created before the first task; NULL: none */
    const char *python;   /* base interpreter for the per-job environment; NULL: leave PATH alone */
    struct words pip;     /* packages installed before the first task */
    const char *packages; /* where what was installed is kept; NULL: nowhere */
    const char *requirements; /* and those of this file, as the tasks see it; NULL: none */
    struct host_name *hosts;
    size_t n_hosts;
    const struct hosts_text *hosts_text; /* all of them (wire_put_host), where that was made once
                                          * for many launches; NULL: it is not made yet */
    struct bind_mount *mounts;
    size_t n_mounts;
    struct launch_file *files; /* that do not lie there already */
    size_t n_files;
    const char *registry_auth; /* credentials for its images, as docker login writes them; NULL:
                                * none */
    size_t registry_auth_len;
    enum job_runtime runtime;      /* of its images; RUNTIME_SERVER: bwrap, as of older servers */
    struct launch_secret *secrets; /* of its tasks */
    size_t n_secrets;
    uint64_t grace_ms;
    uint64_t log_head, log_tail; /* bytes kept per attempt at the front and at the end */
    struct launch_task *tasks;
    size_t n_tasks;
};

/* The launch directory at the server: RUNS/NUMBER/gGENERATION/NODE. The caller's to free. */
char *launch_dir(const char *runs_dir, uint64_t number, uint32_t generation, const char *node);

#endif
