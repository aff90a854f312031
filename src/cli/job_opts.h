/* What the options of run and submit change of a job, in whatever words its file is written: each
 * becomes a value of the canonical job, as --set would give it. */
#ifndef CLI_JOB_OPTS_H
#define CLI_JOB_OPTS_H

#include "base/err.h"
#include "base/opt.h"
#include "cli/command.h"
#include "job/job.h"

struct job_opts {
    const char *time, *priority, *array, *after, *dependency, *nodes, *engine, *retry, *gres,
        *runtime;
    bool requeue, open_stdin, tty;
};
/* Rows for a verb whose struct of options is `holder`, with a member `job`. */
#define JOB_OPTS(holder)                                                                           \
    { .name = "time",                                                                              \
      .letter = 't',                                                                               \
      .type = OPT_STR,                                                                             \
      .offset = offsetof(holder, job.time),                                                        \
      .arg = "TIME",                                                                               \
      .help = "longest run time: 90s, 2h, 1h30m; as in Slurm: H:MM:SS, D-HH:MM:SS" },              \
        { .name = "priority",                                                                      \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, job.priority),                                                \
          .arg = "1-9",                                                                            \
          .help = "9 comes first" },                                                               \
        { .name = "array",                                                                         \
          .letter = 'a',                                                                           \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, job.array),                                                   \
          .arg = "RANGE",                                                                          \
          .help = "many alike, each with its index: 100, 0-99, 0-99:2, 0-99%8 (8 at a time)" },    \
        { .name = "after",                                                                         \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, job.after),                                                   \
          .arg = "JOB,...",                                                                        \
          .help = "starts when these have ended well" },                                           \
        { .name = "dependency",                                                                    \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, job.dependency),                                              \
          .arg = "WORDS",                                                                          \
          .help = "the same in Slurm's words: afterok:12:13, afterany:, afternotok:, aftercorr:, " \
                  "singleton" },                                                                   \
        { .name = "nodes",                                                                         \
          .letter = 'N',                                                                           \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, job.nodes),                                                   \
          .arg = "N",                                                                              \
          .help = "tasks, on different nodes where there are enough" },                            \
        { .name = "engine",                                                                        \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, job.engine),                                                  \
          .arg = "NAME",                                                                           \
          .help = "only nodes of it: local (the server's machine), machines (others), slurm" },    \
        { .name = "retry",                                                                         \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, job.retry),                                                   \
          .arg = "N|always|never",                                                                 \
          .help = "times that what failed is started again, where that may help" },                \
        { .name = "runtime",                                                                       \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, job.runtime),                                                 \
          .arg = "auto|host|bwrap|podman|docker",                                                  \
          .help = "how tasks that name an image are run: in it, or without it (host)" },           \
        { .name = "requeue",                                                                       \
          .type = OPT_FLAG,                                                                        \
          .offset = offsetof(holder, job.requeue),                                                 \
          .help = "started again however often its nodes are lost" },                              \
        { .name = "stdin",                                                                         \
          .letter = 'i',                                                                           \
          .also = "interactive",                                                                   \
          .type = OPT_FLAG,                                                                        \
          .offset = offsetof(holder, job.open_stdin),                                              \
          .help = "its tasks keep an open stdin; run types into the first" },                      \
        { .name = "tty",                                                                           \
          .also = "pty",                                                                           \
          .type = OPT_FLAG,                                                                        \
          .offset = offsetof(holder, job.tty),                                                     \
          .help = "--stdin, on a terminal of the task's own" },                                    \
    {                                                                                              \
        .name = "gres", .type = OPT_STR, .offset = offsetof(holder, job.gres),                     \
        .arg = "gpu:[TYPE:]N", .help = "--gpus in Slurm's words"                                   \
    }

/* Finds what --gres says for --gpus, and a device type in front ("a100:2"): *command changes, *type
 * is NULL where none is said. */
int job_opts_devices(struct arena *, const struct job_opts *, struct command_opts *command,
                     const char **type, struct err *);

struct job_opts_ask {
    const struct job_opts *opts;
    const struct command_opts *of_file; /* resources of a file's role; NULL: they are a command's */
    const char *gpu_type;               /* from job_opts_devices */
    const struct job_spec *job;         /* as it was read here; NULL: it could not be */
    const char *file;                   /* for messages */
};
/* The values, "FIELD=V", in arena; every value is checked. -1 with err. */
int job_opts_sets(struct arena *, const struct job_opts_ask *, struct words *sets, struct err *);

#endif
