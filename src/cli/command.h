/* A command in the place of a job file: what follows "--", with its options, as a job. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/cmd.h"
#include "job/job.h"

struct command_opts {
    const char *replicas, *cpu, *memory, *gpu, *image;
};
/* Rows for a verb whose struct of options is `holder`, with a member `command`. */
#define COMMAND_OPTS(holder)                                                                       \
    { .name = "replicas",                                                                          \
      .letter = 'n',                                                                               \
      .also = "ntasks",                                                                            \
      .type = OPT_STR,                                                                             \
      .offset = offsetof(holder, command.replicas),                                                \
      .arg = "N",                                                                                  \
      .help = "tasks" },                                                                           \
        { .name = "cpus",                                                                          \
          .letter = 'c',                                                                           \
          .also = "cpu cpus-per-task",                                                             \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, command.cpu),                                                 \
          .arg = "N",                                                                              \
          .help = "cores for each task" },                                                         \
        { .name = "mem",                                                                           \
          .also = "memory",                                                                        \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, command.memory),                                              \
          .arg = "SIZE",                                                                           \
          .help = "memory for each task: 4Gi" },                                                   \
        { .name = "gpus",                                                                          \
          .letter = 'G',                                                                           \
          .also = "gpu gpus-per-task",                                                             \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(holder, command.gpu),                                                 \
          .arg = "[TYPE:]N",                                                                       \
          .help = "devices for each task" },                                                       \
    {                                                                                              \
        .name = "image", .type = OPT_STR, .offset = offsetof(holder, command.image),               \
        .arg = "IMAGE", .help = "container image"                                                  \
    }

struct command {
    const struct command_opts *opts;
    const char *name; /* of the job; NULL: after the program */
    const char *from; /* --from, which belongs to files */
    int argc;
    char **argv;
};
struct command_job {
    struct text_node *tree; /* native */
    struct words said;      /* what the user has to know of how it was made */
};
/* Asks the server, where one answers, whether its nodes have devices. Everything in cli->arena. */
int command_job(struct cli *, const struct command *, struct command_job *out, struct err *err);

#endif
