/* The job that a command line becomes, and what is asked for beside the line. */
#ifndef CLI_LINE_LINE_JOB_H
#define CLI_LINE_LINE_JOB_H

#include "base/pairs.h"
#include "job/job.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LINE_RANKS_MOST = 1024, /* of one task */
    LINE_NODES_MOST = 16384,
};
struct line_request { /* beside the line, by options of the verb; NULL or 0: not said */
    uint64_t replicas;
    const char *cpu, *gpu;
};
enum line_kind {
    LINE_PLAIN, /* no launcher's: runs as it is, in as many tasks as are asked for */
    LINE_TASKS, /* each task runs argv or run */
    LINE_MPI,   /* the first task runs argv, which starts ranks in all tasks */
};
struct line_job {
    enum line_kind kind;
    struct words argv; /* what each task runs; from the script on as it was written */
    const char *run;   /* shell text in its place, or NULL */
    struct pairs env;  /* variables written in front of the program */
    /* The rest is set for launchers' lines only. */
    uint32_t min, max;  /* tasks */
    uint32_t ranks;     /* of each task: a device or a core for each; 0: not said */
    bool on_cpu;        /* the ranks want cores */
    uint32_t per_group; /* tasks that share a node; 0: each one for itself */
    bool meets;         /* tasks are told MASTER_ADDR and MASTER_PORT, a port kept for them */
    struct launcher settings;
    const char *convention; /* names the launcher when settings say nothing; else NULL */
    const char *python;     /* interpreter of the ranks, NULL: the task's own */
    struct words program;   /* what the launcher starts: names the job */
    const char *name, *queue, *run_time, *cpu, *memory, *gpu; /* as the line says, or NULL */
    struct words said; /* sentences for the user: what was left out, and why */
};

#endif
