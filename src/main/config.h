/* The server's settings: one table gives flags, environment names, the configuration file's keys,
 * defaults and help. */
#ifndef MAIN_CONFIG_H
#define MAIN_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/pairs.h"
#include "text/tree.h"

#include <stdint.h>

/* id, key in the file (flag: with - for _), kind, default, value in help, meaning. The environment
 * name is MUSTER_ and the key in capitals. Defaults that depend on the state directory or the
 * machine are "". */
#define SETTINGS(X)                                                                                 \
    X(STATE_DIR, "state_dir", TEXT, "", "DIR", "records, logs, socket and token of this server")    \
    X(CONFIG, "config", TEXT, "", "FILE", "configuration file (YAML)")                              \
    X(NODES, "nodes", NODES, "", "LIST",                                                            \
      "virtual nodes: 4x16cpu,64Gi,4gpu (groups apart by ;); default: this machine")                \
    X(LISTEN, "listen", ADDRESS, "127.0.0.1:6878", "ADDR",                                          \
      "address of the TCP port, the next free one is taken; none: only the Unix socket")            \
    X(AGENTS, "agents", ADDRESS, "none", "ADDR",                                                    \
      "address that agents of other machines connect to over TLS: 0.0.0.0:6879; none")              \
    X(FENCE, "fence", TEXT, "", "CMD",                                                              \
      "makes sure that the machine $MUSTER_MACHINE is dead, when jobs wait for it; exit 0: it is")  \
    X(FENCE_AFTER, "fence_after", DURATION, "30s", "TIME",                                          \
      "how long such a machine has been silent by then")                                            \
    X(ENGINE, "engine", CHOICE, "any", "any|local|machines|slurm",                                  \
      "place.engine of jobs that name none: slurm gives each nodes of its own")                     \
    X(SLURM_PREFIX, "slurm_prefix", TEXT, "", "WORDS",                                              \
      "what stands before Slurm's commands, which no shell reads: ssh login, ssh %u@login (as the " \
      "job's account); none: no Slurm")                                                             \
    X(TLS_CERT, "tls_cert", TEXT, "", "FILE",                                                       \
      "certificate chain (PEM) for https on the same port; default: made by the server itself")     \
    X(TLS_KEY, "tls_key", TEXT, "", "FILE", "its key (PEM)")                                        \
    X(SEAL_KEY, "seal_key", TEXT, "", "FILE",                                                       \
      "key that jobs and secrets are sealed with; default: one outside the state directory")        \
    X(SANDBOX, "sandbox", CHOICE, "on", "on|off",                                                   \
      "tasks have the rights of a container; off: for one person's own machine")                    \
    X(SHARED_ACCOUNT, "shared_account", CHOICE, "no", "no|yes",                                     \
      "everybody's jobs run as the server's own user")                                              \
    X(JOB_ACCOUNT, "job_account", TEXT, "", "NAME",                                                 \
      "as whom jobs run of users who have no account on this machine; default: none")               \
    X(USERS_DIR, "users_dir", TEXT, "", "DIR",                                                      \
      "what jobs of other accounts make; default: the state directory with .users behind its name") \
    X(PUBLIC_SOCKET, "public_socket", TEXT, "", "PATH",                                             \
      "Unix socket of a server of root's for every account; default: sock in users_dir; none")      \
    X(TASK_PIDS, "task_pids", COUNT, "65536", "N",                                                  \
      "processes and threads of a task at most; never more than half of the machine's")             \
    X(GPU_MEMORY_BOUND, "gpu_memory_bound", SIZE, "1Gi", "SIZE",                                    \
      "of a device: with more in use by other programs it is not given out")                        \
    X(GPU_MPS, "gpu_mps", TEXT, "", "DIR",                                                          \
      "pipe directory of the MPS daemon for shares of devices; {uid} in it: the account's number")  \
    X(IDLE_EXIT, "idle_exit", DURATION, "never", "TIME", "end after so long without work")          \
    X(FS_URI, "fs_uri", TEXT, "", "URI",                                                            \
      "storage root, $PAI_DEFAULT_FS_URI; default: fs/ in the state directory")                     \
    X(ROOTS, "roots", PAIRS, "", "LIST",                                                            \
      "directories that serve URI prefixes: hdfs://host:9000/=/data (apart by ,)")                  \
    X(PYTHON, "python", PROGRAM, "", "FILE",                                                        \
      "base interpreter of per-job environments; none: leave PATH alone; default: python3 in PATH") \
    X(TORCHRUN, "torchrun", CHOICE, "job", "job|always|never",                                      \
      "whose torchrun tasks find: muster's where the job asks for it, always, never")               \
    X(RUNTIME, "runtime", CHOICE, "auto", "host|auto|bwrap|podman|docker",                          \
      "how jobs that name an image are run: without it, in it by what works or is said")            \
    X(IMAGES_SIZE, "images_size", SIZE, "64Gi", "SIZE",                                             \
      "of the images that a node keeps for an account; the longest unused goes")                    \
    X(QUEUES, "queues", QUEUES, "default", "LIST",                                                  \
      "known queues (apart by ,); in the file also maps with shares")                               \
    X(TOPOLOGY, "topology", LIST, "", "LIST",                                                       \
      "labels of nodes that say what they are part of, outermost first: zone,rack")                 \
    X(PRICES, "prices", PRICES, "", "LIST",                                                         \
      "of a device for an hour, by model: A100=2.5,*=1 (what spot jobs bid against)")               \
    X(DEFAULT_RUN, "default_run", DURATION, "24h", "TIME",                                          \
      "assumed run time of jobs without a limit")                                                   \
    X(HALF_LIFE, "half_life", DURATION, "7d", "TIME",                                               \
      "after which what a user had of a queue counts half; never: all of it, for ever")             \
    X(PORTS, "ports", PORTS, "20000-32767", "A-B", "port numbers given to tasks")                   \
    X(LOG_HEAD, "log_head", SIZE, "32Mi", "SIZE", "kept of each attempt's output, at its front")    \
    X(LOG_TAIL, "log_tail", SIZE, "32Mi", "SIZE", "and at its end")                                 \
    X(KUBECTL_HTTP, "kubectl_http", CHOICE, "off", "off|on",                                        \
      "plain http on this machine's own address serves kubectl, as the server's user")              \
    X(KEEP, "keep", DURATION, "30d", "TIME", "records of ended jobs; never: for ever")              \
    X(OPENPAI_OPEN_READS, "openpai_open_reads", CHOICE, "off", "off|on",                            \
      "OpenPAI: everybody reads every job, and its version 1 without a token")                      \
    X(RECORD, "record", TEXT, "", "DIR", "record all inputs there, for \"muster replay\"")          \
    X(RECORD_MAX, "record_max", SIZE, "512Mi", "SIZE",                                              \
      "of recordings on disk at most; the oldest go first")                                         \
    X(BACKUP_TO, "backup_to", TEXT, "", "DIR",                                                      \
      "a directory, or s3://BUCKET/PREFIX, that the records are backed up to all the time")         \
    X(BACKUP_ENDPOINT, "backup_endpoint", TEXT, "", "URL",                                          \
      "of the S3 store, https://HOST:PORT; else AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS itself") \
    X(BACKUP_REGION, "backup_region", TEXT, "", "NAME",                                             \
      "of that bucket; else AWS_REGION, AWS_DEFAULT_REGION, us-east-1")                             \
    X(BACKUP_EVERY, "backup_every", DURATION, "10s", "TIME",                                        \
      "what was committed goes there at the latest after so long")                                  \
    X(BACKUP_BASE, "backup_base", DURATION, "24h", "TIME",                                          \
      "a whole copy goes there so often; never: only when a server starts")                         \
    X(BACKUP_KEEP, "backup_keep", COUNT, "2", "N", "whole copies kept there, with what followed")   \
    X(SUBMIT_RATE, "submit_rate", COUNT, "200", "N",                                                \
      "jobs a second that a user who is no admin submits; a minute's worth at once")                \
    X(LIST_RATE, "list_rate", COUNT, "200", "N",                                                    \
      "lists a second of such a user; ten seconds' worth at once")                                  \
    X(LOG_RATE, "log_rate", SIZE, "64Mi", "SIZE", "bytes of output a second to such a user")        \
    X(CODE_SIZE, "code_size", SIZE, "8Gi", "SIZE",                                                  \
      "what code that is sent along may hold when it is unpacked")                                  \
    X(CODE_FILES, "code_files", COUNT, "200000", "N", "and how many files and directories")         \
    X(STORE_QUOTA, "store_quota", SIZE, "20Gi", "SIZE", "of such code, packed, by each user")       \
    X(MAX_CONNECTIONS, "max_connections", COUNT, "10000", "N", "open connections at most")          \
    X(LOG_LEVEL, "log_level", LEVEL, "info", "LEVEL", "debug, info, warn or error")

#define SETTING_ENUM(id, key, kind, def, arg, doc) SETTING_##id,
enum setting { SETTINGS(SETTING_ENUM) SETTING_N };
#undef SETTING_ENUM

struct setting_value {
    const char *text;             /* never NULL */
    const char *from;             /* "flag" "environment" "kept" "file" "default" */
    const struct text_node *tree; /* as the file has it, when it is from there */
};
struct config {
    struct setting_value at[SETTING_N];
    const char *file; /* read, or NULL: there is none */
};

const char *setting_key(enum setting);
const char *setting_doc(enum setting);
/* Rows of command-line options for all settings: offsets into an array of SETTING_N const char *.
 */
const struct opt *config_options(void);

/* flags: SETTING_N texts, NULL where not given. Every value is checked for its form. Texts are in
 * arena. */
int config_load(struct arena *, const char *const *flags, struct config *, struct err *);
/* As recorded, and with what `sets` ("key=value") says instead: lists of nodes and queues also in
 * the file's form, "queues=[{name: a}]". trees: key, JSON of what the file said more than a text.
 */
struct config_recording {
    const struct pairs *settings, *trees;
    const char *const *sets;
    size_t n_sets;
};
int config_replay(struct arena *, const struct config_recording *, struct config *,
                  struct err *err);
/* Replaces a default that was left open ("") by what it comes to. */
void config_settle(struct config *, enum setting, const char *text);

/* Position of a CHOICE's value among its words. */
unsigned config_choice(const struct config *, enum setting);
/* Readers of checked values. "never" gives UINT64_MAX as a duration. */
uint64_t config_number(const struct config *, enum setting); /* COUNT, SIZE, DURATION (ms), LEVEL */
void config_ports(const struct config *, uint32_t *first, uint32_t *last);
/* Values of a LIST, or PAIRS (name: prefix). */
void config_list(struct arena *, const struct config *, enum setting, struct pairs *out);
/* [{name, value, from, doc}] */
/* The queues: of each its name, and of those that the file says more of, the map. NULL: the setting
 * is not from the file, or has names only. */
const struct text_node *config_queues(const struct config *);
struct text_node *config_tree(struct arena *, const struct config *);

#endif
