/* The command line of srun inside a job. */
#ifndef STEP_SRUN_OPTS_H
#define STEP_SRUN_OPTS_H

#include "base/arena.h"
#include "base/err.h"
#include "job/words.h"

#include <stdbool.h>
#include <stdint.h>

/* id, long name, letter or 0, argument: NO, YES, MAYBE; what becomes of it: USED, KNOWN (has no
 * meaning inside a job here, accepted), REFUSED (why) */
#define SRUN_OPTIONS(X)                                                                            \
    X(NODES, "nodes", 'N', YES, USED, "nodes of the step")                                         \
    X(NTASKS, "ntasks", 'n', YES, USED, "tasks")                                                   \
    X(NTASKS_PER_NODE, "ntasks-per-node", 0, YES, USED, "most tasks on a node")                    \
    X(CPUS_PER_TASK, "cpus-per-task", 'c', YES, USED, "cores of a task")                           \
    X(GPUS_PER_TASK, "gpus-per-task", 0, YES, USED, "each task sees so many devices of its own")   \
    X(GPUS, "gpus", 'G', YES, USED, "devices of the step, divided by its nodes")                   \
    X(GPUS_PER_NODE, "gpus-per-node", 0, YES, USED, "devices of the step on a node")               \
    X(GRES, "gres", 0, YES, USED, "gpu:N: the same")                                               \
    X(CPU_BIND, "cpu-bind", 0, YES, USED, "cores, threads, ...: each task is bound to its cores")  \
    X(DISTRIBUTION, "distribution", 'm', YES, USED, "block, cyclic, plane=N")                      \
    X(NODELIST, "nodelist", 'w', YES, USED, "these nodes of the job")                              \
    X(EXCLUDE, "exclude", 'x', YES, USED, "not these")                                             \
    X(RELATIVE, "relative", 'r', YES, USED, "from this node of the job on")                        \
    X(HET_GROUP, "het-group", 0, YES, USED, "components of the job")                               \
    X(MULTI_PROG, "multi-prog", 0, NO, USED, "the operand is a file: which ranks run what")        \
    X(LABEL, "label", 'l', NO, USED, "each line begins with its rank")                             \
    X(UNBUFFERED, "unbuffered", 'u', NO, USED, "what is written is shown at once, not by lines")   \
    X(OUTPUT, "output", 'o', YES, USED, "file for stdout; none, all, or a rank")                   \
    X(ERROR, "error", 'e', YES, USED, "file for stderr")                                           \
    X(INPUT, "input", 'i', YES, USED, "file for stdin; none, all, or a rank")                      \
    X(OPEN_MODE, "open-mode", 0, YES, USED, "append or truncate")                                  \
    X(EXPORT, "export", 0, YES, USED, "ALL, NONE, NAMES and NAME=VALUE")                           \
    X(CHDIR, "chdir", 'D', YES, USED, "working directory of the tasks")                            \
    X(KILL_ON_BAD_EXIT, "kill-on-bad-exit", 'K', MAYBE, USED, "one failed task ends the step")     \
    X(WAIT, "wait", 'W', YES, USED, "seconds after the first task has ended")                      \
    X(TIME, "time", 't', YES, USED, "longest run time of the step")                                \
    X(OVERLAP, "overlap", 0, NO, USED, "cores and devices are shared with other steps")            \
    X(JOBID, "jobid", 0, YES, USED, "only this job")                                               \
    X(MPI, "mpi", 0, YES, USED, "none; pmi2 and pmix need Slurm's own srun")                       \
    X(QUIET, "quiet", 'Q', NO, USED, "says nothing of tasks that fail")                            \
    X(VERSION, "version", 'V', NO, USED, "prints whose srun this is")                              \
    X(PTY, "pty", 0, MAYBE, REFUSED, "a batch script has no terminal; muster exec enters a task")  \
    X(BCAST, "bcast", 0, MAYBE, REFUSED, "the program is not copied; it has to be on all nodes")   \
    X(CONTAINER, "container", 0, YES, REFUSED, "a step runs in what its job runs in")              \
    X(CONTAINER_IMAGE, "container-image", 0, YES, REFUSED,                                         \
      "a step runs in what its job runs in: #SBATCH --container-image")                            \
    X(CONTAINER_MOUNTS, "container-mounts", 0, YES, REFUSED,                                       \
      "a step sees what its job sees: #SBATCH --container-mounts")                                 \
    X(MULTI_CLUSTER, "clusters", 'M', YES, REFUSED, "there is one cluster")                        \
    X(NO_ALLOCATE, "no-allocate", 'Z', NO, REFUSED, "a step is of a job")                          \
    X(UID, "uid", 0, YES, REFUSED, "tasks are whose job it is")                                    \
    X(GID, "gid", 0, YES, REFUSED, "tasks are whose job it is")                                    \
    X(EXACT, "exact", 0, NO, KNOWN, "a step holds what it asks for, always")                       \
    X(EXCLUSIVE, "exclusive", 0, MAYBE, KNOWN, "a step holds its cores, always")                   \
    X(OVERCOMMIT, "overcommit", 'O', NO, KNOWN, "")                                                \
    X(JOB_NAME, "job-name", 'J', YES, KNOWN, "")                                                   \
    X(NO_KILL, "no-kill", 'k', MAYBE, KNOWN, "")                                                   \
    X(MEM, "mem", 0, YES, KNOWN, "the memory is the job's")                                        \
    X(MEM_PER_CPU, "mem-per-cpu", 0, YES, KNOWN, "the memory is the job's")                        \
    X(MEM_PER_GPU, "mem-per-gpu", 0, YES, KNOWN, "the memory is the job's")                        \
    X(MEM_BIND, "mem-bind", 0, YES, KNOWN, "")                                                     \
    X(GPU_BIND, "gpu-bind", 0, YES, KNOWN, "")                                                     \
    X(GPU_FREQ, "gpu-freq", 0, YES, KNOWN, "")                                                     \
    X(CPU_FREQ, "cpu-freq", 0, YES, KNOWN, "")                                                     \
    X(CPUS_PER_GPU, "cpus-per-gpu", 0, YES, KNOWN, "")                                             \
    X(NTASKS_PER_GPU, "ntasks-per-gpu", 0, YES, KNOWN, "")                                         \
    X(NTASKS_PER_SOCKET, "ntasks-per-socket", 0, YES, KNOWN, "")                                   \
    X(NTASKS_PER_CORE, "ntasks-per-core", 0, YES, KNOWN, "")                                       \
    X(CORES_PER_SOCKET, "cores-per-socket", 0, YES, KNOWN, "")                                     \
    X(SOCKETS_PER_NODE, "sockets-per-node", 0, YES, KNOWN, "")                                     \
    X(THREADS_PER_CORE, "threads-per-core", 0, YES, KNOWN, "")                                     \
    X(HINT, "hint", 0, YES, KNOWN, "")                                                             \
    X(PARTITION, "partition", 'p', YES, KNOWN, "of the job")                                       \
    X(ACCOUNT, "account", 'A', YES, KNOWN, "of the job")                                           \
    X(QOS, "qos", 'q', YES, KNOWN, "of the job")                                                   \
    X(CONSTRAINT, "constraint", 'C', YES, KNOWN, "of the job")                                     \
    X(COMMENT, "comment", 0, YES, KNOWN, "of the job")                                             \
    X(MAIL_TYPE, "mail-type", 0, YES, KNOWN, "of the job")                                         \
    X(MAIL_USER, "mail-user", 0, YES, KNOWN, "of the job")                                         \
    X(PROPAGATE, "propagate", 0, MAYBE, KNOWN, "limits are the job's")                             \
    X(PROFILE, "profile", 0, YES, KNOWN, "")                                                       \
    X(ACCTG_FREQ, "acctg-freq", 0, YES, KNOWN, "")                                                 \
    X(NETWORK, "network", 0, YES, KNOWN, "")                                                       \
    X(PRESERVE_ENV, "preserve-env", 'E', NO, KNOWN, "")                                            \
    X(DISABLE_STATUS, "disable-status", 'X', NO, KNOWN, "")                                        \
    X(MSG_TIMEOUT, "msg-timeout", 0, YES, KNOWN, "")                                               \
    X(USE_MIN_NODES, "use-min-nodes", 0, NO, KNOWN, "")                                            \
    X(SPREAD_JOB, "spread-job", 0, NO, KNOWN, "")                                                  \
    X(WHOLE, "whole", 0, NO, KNOWN, "")                                                            \
    X(VERBOSE, "verbose", 'v', NO, KNOWN, "")

#define SRUN_ENUM(id, ...) SRUN_##id,
enum srun_id { SRUN_OPTIONS(SRUN_ENUM) SRUN_ID_N };
#undef SRUN_ENUM

struct srun_opts {             /* of one component's part of the line */
    const char *at[SRUN_ID_N]; /* value; "" without one; NULL: not given */
    struct words argv;
};
/* The parts of the line between ":" words; a part has the operands that follow its options. Values
 * of the environment (SLURM_*, SRUN_*) are filled in where the line says nothing. */
int srun_opts_read(struct arena *, int argc, char **argv, struct srun_opts **parts, size_t *n,
                   struct err *);

/* A number of at least least; *out is left where it is not given. */
int srun_opts_number(const struct srun_opts *, enum srun_id, uint32_t least, uint32_t *out,
                     struct err *);
struct srun_limits {  /* of the whole step */
    uint64_t run_ms;  /* --time; 0: none */
    uint64_t wait_ms; /* --wait, after the first task's end; 0: for ever */
};
int srun_opts_limits(const struct srun_opts *, struct srun_limits *, struct err *);
const char *srun_opts_name(enum srun_id);

#endif
