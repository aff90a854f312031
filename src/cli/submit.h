/* Submitting, as several verbs do it. */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/job_env.h"
#include "cli/job_opts.h"

/* First member of the options of every verb that submits. */
struct submit_opts {
    struct common_opts common;
    const char *from, *name, *queue, *code, *key, *like, *python;
    struct job_env env;
    struct opt_list set;
    bool wait, apply, replace, detach;
    struct words args; /* of a batch script */
    struct job_opts job;
    struct command_opts command; /* of a command's task, or of a file's only role */
};
#define SUBMIT_OPTS                                                                                \
    { .name = "name",                                                                              \
      .letter = 'J',                                                                               \
      .also = "job-name",                                                                          \
      .type = OPT_STR,                                                                             \
      .offset = offsetof(struct submit_opts, name),                                                \
      .arg = "NAME",                                                                               \
      .help = "of the job, instead of the file's" },                                               \
        { .name = "queue",                                                                         \
          .letter = 'p',                                                                           \
          .also = "partition",                                                                     \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct submit_opts, queue),                                           \
          .arg = "QUEUE",                                                                          \
          .help = "instead of the file's" },                                                       \
        { .name = "env",                                                                           \
          .letter = 'e',                                                                           \
          .type = OPT_LIST,                                                                        \
          .offset = offsetof(struct submit_opts, env.env),                                         \
          .arg = "NAME[=V]",                                                                       \
          .help = "a variable of every task, alone: as it is here (again for more)" },             \
        { .name = "set",                                                                           \
          .type = OPT_LIST,                                                                        \
          .offset = offsetof(struct submit_opts, set),                                             \
          .arg = "FIELD=V",                                                                        \
          .help = "another value: roles.worker.replicas=2 (again for more)" },                     \
        { .name = "from",                                                                          \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct submit_opts, from),                                            \
          .arg = "FORMAT",                                                                         \
          .help = "what the file is written in, instead of finding out" },                         \
        { .name = "code",                                                                          \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct submit_opts, code),                                            \
          .arg = "DIR",                                                                            \
          .help = "directory given to the tasks as their code" },                                  \
    {                                                                                              \
        .name = "idempotency-key", .type = OPT_STR, .offset = offsetof(struct submit_opts, key),   \
        .arg = "KEY", .help = "the same key submits only once"                                     \
    }
/* Rows of run and submit alone. */
#define RUN_OPTS                                                                                   \
    COMMAND_OPTS(struct submit_opts), JOB_OPTS(struct submit_opts),                                \
        { .name = "python",                                                                        \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct submit_opts, python),                                          \
          .arg = "PATH",                                                                           \
          .help =                                                                                  \
              "of the tasks: a Python or its environment's directory, instead of this shell's" },  \
        { .name = "env-file",                                                                      \
          .type = OPT_LIST,                                                                        \
          .offset = offsetof(struct submit_opts, env.files),                                       \
          .arg = "FILE",                                                                           \
          .help = "variables of every task, NAME=VALUE in lines (again for more)" },               \
        { .name = "export",                                                                        \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct submit_opts, env.export),                                      \
          .arg = "all|none|NAMES",                                                                 \
          .help = "this shell's variables for the tasks: none (the default), all, or A,B,C=V" },   \
    {                                                                                              \
        .name = "detach", .letter = 'd', .type = OPT_FLAG,                                         \
        .offset = offsetof(struct submit_opts, detach), .help = "return once it is submitted"      \
    }

/* Submits a file ("-": stdin), with file == NULL the job named by --like. nth: several files of one
 * call, each with its own key. The answer in cli->arena, or NULL with err. */
struct text_node *submit_file(struct cli *, const struct submit_opts *, const char *file,
                              size_t nth, struct err *err);
/* The same for a text that was read already. */
struct submit_source;
struct text_node *submit_read(struct cli *, const struct submit_opts *,
                              const struct submit_source *, size_t nth, struct err *err);
/* The same for a text made here, of what the user knows as made_of. */
struct text_node *submit_text(struct cli *, const struct submit_opts *, const char *made_of,
                              const char *text, size_t len, struct err *err);
/* The same for a command; says on stderr what its user has to know of the job it became. */
struct text_node *submit_command(struct cli *, const struct submit_opts *, int argc, char **argv,
                                 struct err *err);
/* "12 ddp  (openpai v1)  2 roles, 4 tasks, 8 cpu", then warnings (to stderr). */
void submit_print(struct cli *, const struct text_node *submitted);

/* The request with every option of these in it, in cli->arena. */
struct submit_source {
    const char *route, *file, *text;
    size_t len;
    bool shell;           /* of run and submit: their options, this shell's Python */
    bool command;         /* text is made of a command, which has the resources already */
    const char *gpu_type; /* of the command */
};
struct call;
int submit_call(struct cli *, const struct submit_opts *, const struct submit_source *,
                struct call *, struct err *err);
/* -d afterok:12 is what a user of Slurm may write. */
/* Is the first operand a batch script? What follows it is its own then, and goes to args, unless
 * all of it are batch scripts as well. */
bool submit_batch(struct cli *, struct submit_opts *, int argc, char **argv);
int submit_check(const struct submit_opts *, int argc, char **argv, struct err *err);

#endif
