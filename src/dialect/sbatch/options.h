/* Every option that sbatch 22.05 takes, with what becomes of it here. */
#ifndef DIALECT_SBATCH_OPTIONS_H
#define DIALECT_SBATCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum sb_fate { SB_HONOURED, SB_WARNED, SB_REFUSED, SB_QUIET };
enum sb_arg { SB_NO_ARG, SB_ARG, SB_MAYBE_ARG };

/* id, long name, letter or 0, argument, fate, is kept by later components, what becomes of it */
#define SB_OPTIONS(X)                                                                              \
    X(ACCOUNT, "account", 'A', ARG, HONOURED, 1, "`project`")                                      \
    X(ACCTG_FREQ, "acctg-freq", 0, ARG, QUIET, 0, "nothing is sampled for accounts")               \
    X(ARRAY, "array", 'a', ARG, HONOURED, 1, "`array`; a list of indices must have equal steps")   \
    X(BATCH, "batch", 0, ARG, WARNED, 0, "nodes have no features")                                 \
    X(BB, "bb", 0, ARG, REFUSED, 0, "there are no burst buffers")                                  \
    X(BBF, "bbf", 0, ARG, REFUSED, 0, "there are no burst buffers")                                \
    X(BEGIN, "begin", 'b', ARG, REFUSED, 1, "a job has no start time here; `now` is accepted")     \
    X(CHDIR, "chdir", 'D', ARG, HONOURED, 1, "the script starts there")                            \
    X(CLUSTER_CONSTRAINT, "cluster-constraint", 0, ARG, WARNED, 0, "there is one cluster")         \
    X(CLUSTERS, "clusters", 'M', ARG, WARNED, 0, "there is one cluster")                           \
    X(COMMENT, "comment", 0, ARG, HONOURED, 1, "`description`")                                    \
    X(CONSTRAINT, "constraint", 'C', ARG, HONOURED, 0,                                             \
      "the name of a device model is `gpu_type`; other features are warned: nodes have none, "     \
      "`--engine slurm` asks for it; kept as label `constraint`")                                  \
    X(CONTAINER, "container", 0, ARG, REFUSED, 0, "OCI bundles are not run; --container-image")    \
    X(CONTAINER_IMAGE, "container-image", 0, ARG, HONOURED, 1, "`image` (pyxis)")                  \
    X(CONTAINER_MOUNTS, "container-mounts", 0, ARG, HONOURED, 1, "`inputs.data` (pyxis)")          \
    X(CONTIGUOUS, "contiguous", 0, NO_ARG, WARNED, 0, "nodes have no order")                       \
    X(CORE_SPEC, "core-spec", 'S', ARG, WARNED, 0, "no cores are kept for the system")             \
    X(CORES_PER_SOCKET, "cores-per-socket", 0, ARG, WARNED, 0, "sockets are not told apart")       \
    X(CPU_FREQ, "cpu-freq", 0, ARG, WARNED, 0, "the frequency of cores is not set")                \
    X(CPUS_PER_GPU, "cpus-per-gpu", 0, ARG, HONOURED, 0, "`cpu` of a node, times its devices")     \
    X(CPUS_PER_TASK, "cpus-per-task", 'c', ARG, HONOURED, 0, "`cpu` of a node, times its tasks")   \
    X(DEADLINE, "deadline", 0, ARG, WARNED, 1, "a job has no latest end; --time is its limit")     \
    X(DELAY_BOOT, "delay-boot", 0, ARG, QUIET, 0, "no node is booted for a job")                   \
    X(DEPENDENCY, "dependency", 'd', ARG, HONOURED, 1,                                             \
      "`after`: afterok, afternotok, afterany, aftercorr, singleton; `after`, `?` and times are "  \
      "refused")                                                                                   \
    X(DISTRIBUTION, "distribution", 'm', ARG, HONOURED, 0,                                         \
      "block, cyclic, plane=N: of the tasks of `srun`; arbitrary is refused")                      \
    X(ERROR, "error", 'e', ARG, HONOURED, 1, "a copy of stderr goes there too")                    \
    X(EXCLUDE, "exclude", 'x', ARG, HONOURED, 1, "`place.avoid`")                                  \
    X(EXCLUSIVE, "exclusive", 0, MAYBE_ARG, HONOURED, 0,                                           \
      "no limit of cores; warned: others may still get what it leaves of a node")                  \
    X(EXPORT, "export", 0, ARG, HONOURED, 1,                                                       \
      "NAME=VALUE: `env`; ALL and names alone are warned: a job gets what `--env` passes")         \
    X(EXPORT_FILE, "export-file", 0, ARG, REFUSED, 0,                                              \
      "only the submitter can read it; --env-file")                                                \
    X(EXTRA_NODE_INFO, "extra-node-info", 'B', ARG, WARNED, 0, "sockets are not told apart")       \
    X(GET_USER_ENV, "get-user-env", 0, MAYBE_ARG, WARNED, 0, "no login shell is run for a job")    \
    X(GID, "gid", 0, ARG, REFUSED, 0, "a job is its submitter's")                                  \
    X(GPU_BIND, "gpu-bind", 0, ARG, WARNED, 0, "`srun --gpus-per-task` gives a task its own")      \
    X(GPU_FREQ, "gpu-freq", 0, ARG, WARNED, 0, "the frequency of devices is not set")              \
    X(GPUS, "gpus", 'G', ARG, HONOURED, 0, "`gpu` of a node: the number divided by the nodes")     \
    X(GPUS_PER_NODE, "gpus-per-node", 0, ARG, HONOURED, 0, "`gpu` of a node")                      \
    X(GPUS_PER_SOCKET, "gpus-per-socket", 0, ARG, REFUSED, 0,                                      \
      "sockets are not told apart; --gpus-per-node")                                               \
    X(GPUS_PER_TASK, "gpus-per-task", 0, ARG, HONOURED, 0, "`gpu` of a node, times its tasks")     \
    X(GRES, "gres", 0, ARG, HONOURED, 0,                                                           \
      "`gpu:MODEL:N`: `gpu` and `gpu_type` of a node; other names: custom resources")              \
    X(GRES_FLAGS, "gres-flags", 0, ARG, QUIET, 0, "devices and cores are not tied")                \
    X(HELP, "help", 'h', NO_ARG, REFUSED, 0, "of the command line only")                           \
    X(HINT, "hint", 0, ARG, WARNED, 0, "threads are not told apart")                               \
    X(HOLD, "hold", 'H', NO_ARG, HONOURED, 1, "`suspend`")                                         \
    X(IGNORE_PBS, "ignore-pbs", 0, NO_ARG, QUIET, 0, "#PBS lines are never read")                  \
    X(INPUT, "input", 'i', ARG, HONOURED, 1, "the script's stdin")                                 \
    X(JOB_NAME, "job-name", 'J', ARG, HONOURED, 1, "`name`")                                       \
    X(KILL_ON_INVALID_DEP, "kill-on-invalid-dep", 0, ARG, WARNED, 0,                               \
      "a dependency that cannot come true fails the job at once, always")                          \
    X(LICENSES, "licenses", 'L', ARG, WARNED, 0,                                                   \
      "licences are not counted; `--engine slurm` asks for them; kept as label `licenses`")        \
    X(MAIL_TYPE, "mail-type", 0, ARG, WARNED, 1, "no mail is sent")                                \
    X(MAIL_USER, "mail-user", 0, ARG, WARNED, 1, "no mail is sent")                                \
    X(MCS_LABEL, "mcs-label", 0, ARG, WARNED, 0, "there are no such labels")                       \
    X(MEM, "mem", 0, ARG, HONOURED, 1, "`memory` of a node; 0: no limit")                          \
    X(MEM_BIND, "mem-bind", 0, ARG, WARNED, 0, "memory is not bound")                              \
    X(MEM_PER_CPU, "mem-per-cpu", 0, ARG, HONOURED, 0, "`memory` of a node, times its cores")      \
    X(MEM_PER_GPU, "mem-per-gpu", 0, ARG, HONOURED, 0, "`memory` of a node, times its devices")    \
    X(MINCPUS, "mincpus", 0, ARG, HONOURED, 0, "least `cpu` of a node")                            \
    X(NETWORK, "network", 0, ARG, WARNED, 0, "the network is not set up for a job")                \
    X(NICE, "nice", 0, MAYBE_ARG, HONOURED, 1, "above 0: `priority` 4; below 0 is warned")         \
    X(NO_KILL, "no-kill", 'k', MAYBE_ARG, WARNED, 0,                                               \
      "a job that loses a node is started anew, or fails")                                         \
    X(NO_REQUEUE, "no-requeue", 0, NO_ARG, HONOURED, 1, "`retry.platform: never`")                 \
    X(NODEFILE, "nodefile", 'F', ARG, REFUSED, 0, "only the submitter can read it; --nodelist")    \
    X(NODELIST, "nodelist", 'w', ARG, HONOURED, 0, "`place.nodes`")                                \
    X(NODES, "nodes", 'N', ARG, HONOURED, 0, "tasks of the role; of a range the least is taken")   \
    X(NTASKS, "ntasks", 'n', ARG, HONOURED, 0, "tasks of `srun`, spread evenly over the nodes")    \
    X(NTASKS_PER_CORE, "ntasks-per-core", 0, ARG, WARNED, 0, "threads are not told apart")         \
    X(NTASKS_PER_GPU, "ntasks-per-gpu", 0, ARG, HONOURED, 0, "tasks of a node, times its devices") \
    X(NTASKS_PER_NODE, "ntasks-per-node", 0, ARG, HONOURED, 0, "tasks of `srun` on a node")        \
    X(NTASKS_PER_SOCKET, "ntasks-per-socket", 0, ARG, WARNED, 0, "sockets are not told apart")     \
    X(OPEN_MODE, "open-mode", 0, ARG, HONOURED, 1, "append or truncate, of --output and --error")  \
    X(OUTPUT, "output", 'o', ARG, HONOURED, 1, "a copy of the output goes there too")              \
    X(OVERCOMMIT, "overcommit", 'O', NO_ARG, HONOURED, 0, "one core a node for all its tasks")     \
    X(OVERSUBSCRIBE, "oversubscribe", 's', NO_ARG, WARNED, 0,                                      \
      "nodes are shared always, cores never")                                                      \
    X(PARSABLE, "parsable", 0, NO_ARG, QUIET, 0, "of the command line; --quiet prints the number") \
    X(PARTITION, "partition", 'p', ARG, HONOURED, 0, "`queue`; of a list the first")               \
    X(POWER, "power", 0, ARG, WARNED, 0, "power is not managed")                                   \
    X(PREFER, "prefer", 0, ARG, WARNED, 0, "nodes have no features")                               \
    X(PRIORITY, "priority", 0, ARG, WARNED, 0, "its scale is the site's; --set priority=1..9")     \
    X(PROFILE, "profile", 0, ARG, WARNED, 0, "nothing is sampled")                                 \
    X(PROPAGATE, "propagate", 0, MAYBE_ARG, WARNED, 0,                                             \
      "limits of the submitter's shell stay there")                                                \
    X(QOS, "qos", 'q', ARG, WARNED, 1,                                                             \
      "queues have none; `--engine slurm` asks for it; kept as label `qos`")                       \
    X(QUIET, "quiet", 'Q', NO_ARG, QUIET, 0, "of the command line")                                \
    X(REBOOT, "reboot", 0, NO_ARG, REFUSED, 0, "no node is rebooted for a job")                    \
    X(REQUEUE, "requeue", 0, NO_ARG, HONOURED, 1, "`retry.platform`: a lost node starts it anew")  \
    X(RESERVATION, "reservation", 0, ARG, WARNED, 0,                                               \
      "there are none; `--engine slurm` asks for it; kept as label `reservation`")                 \
    X(SIGNAL, "signal", 0, ARG, HONOURED, 1, "sent that long before --time is over")               \
    X(SOCKETS_PER_NODE, "sockets-per-node", 0, ARG, WARNED, 0, "sockets are not told apart")       \
    X(SPREAD_JOB, "spread-job", 0, NO_ARG, QUIET, 0, "nodes of a job are spread always")           \
    X(SWITCHES, "switches", 0, ARG, HONOURED, 0, "1: `place.topology: {within: switch}`")          \
    X(TEST_ONLY, "test-only", 0, NO_ARG, REFUSED, 0, "of the command line; `muster check`")        \
    X(THREAD_SPEC, "thread-spec", 0, ARG, WARNED, 0, "no threads are kept for the system")         \
    X(THREADS_PER_CORE, "threads-per-core", 0, ARG, WARNED, 0, "threads are not told apart")       \
    X(TIME, "time", 't', ARG, HONOURED, 1, "`limits.run_time`; rounded up to minutes")             \
    X(TIME_MIN, "time-min", 0, ARG, WARNED, 0, "the time limit is not lowered")                    \
    X(TMP, "tmp", 0, ARG, HONOURED, 0, "`disk` of a node")                                         \
    X(UID, "uid", 0, ARG, REFUSED, 0, "a job is its submitter's")                                  \
    X(USAGE, "usage", 0, NO_ARG, REFUSED, 0, "of the command line only")                           \
    X(USE_MIN_NODES, "use-min-nodes", 0, NO_ARG, QUIET, 0, "of a range the least is taken always") \
    X(VERBOSE, "verbose", 'v', NO_ARG, QUIET, 0, "of the command line")                            \
    X(VERSION, "version", 'V', NO_ARG, REFUSED, 0, "of the command line only")                     \
    X(WAIT, "wait", 'W', NO_ARG, WARNED, 0,                                                        \
      "`muster run` follows a job, and `sbatch` in a job waits; `muster submit` does not")         \
    X(WAIT_ALL_NODES, "wait-all-nodes", 0, ARG, QUIET, 0, "all nodes are there when it starts")    \
    X(WCKEY, "wckey", 0, ARG, WARNED, 1, "there are no such keys; kept as the label `wckey`")      \
    X(WRAP, "wrap", 0, ARG, REFUSED, 0, "of the command line; `muster run -- COMMAND`")

#define SB_ENUM(id, ...) SBO_##id,
enum sb_id { SB_OPTIONS(SB_ENUM) SB_ID_N };
#undef SB_ENUM

struct sb_option {
    const char *name;
    char letter;
    enum sb_arg arg;
    enum sb_fate fate;
    bool kept; /* by the later components of a heterogeneous job */
    const char *doc;
};
extern const struct sb_option sb_options[SB_ID_N];
/* By its name, an old name, or a beginning that only one has. SB_ID_N: none; *several: more than
 * one. */
enum sb_id sb_option_find(const char *name, size_t len, bool *several);
enum sb_id sb_option_letter(char letter);     /* SB_ID_N: none */
const char *sb_option_near(const char *name); /* NULL: none is near */

#endif
