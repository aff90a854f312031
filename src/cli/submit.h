/* Submitting, as several verbs do it. */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include "cli/cmd.h"
#include "cli/command.h"

/* First member of the options of every verb that submits. */
struct submit_opts {
    struct common_opts common;
    const char *from, *name, *queue, *code, *key, *like;
    struct opt_list env, set;
    bool wait, apply, replace;
};
#define SUBMIT_OPTS                                                                                \
    { .name = "name",                                                                              \
      .type = OPT_STR,                                                                             \
      .offset = offsetof(struct submit_opts, name),                                                \
      .arg = "NAME",                                                                               \
      .help = "of the job, instead of the file's" },                                               \
        { .name = "queue",                                                                         \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct submit_opts, queue),                                           \
          .arg = "QUEUE",                                                                          \
          .help = "instead of the file's" },                                                       \
        { .name = "env",                                                                           \
          .letter = 'e',                                                                           \
          .type = OPT_LIST,                                                                        \
          .offset = offsetof(struct submit_opts, env),                                             \
          .arg = "K=V",                                                                            \
          .help = "a variable of every task (again for more)" },                                   \
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

/* Submits a file ("-": stdin), with file == NULL the job named by --like. nth: several files of one
 * call, each with its own key. The answer in cli->arena, or NULL with err. */
struct text_node *submit_file(struct cli *, const struct submit_opts *, const char *file,
                              size_t nth, struct err *err);
/* The same for a text that was read already. */
struct submit_source;
struct text_node *submit_read(struct cli *, const struct submit_opts *,
                              const struct submit_source *, size_t nth, struct err *err);
/* The same for a text made here. */
struct text_node *submit_text(struct cli *, const struct submit_opts *, const char *text,
                              size_t len, struct err *err);
/* The same for a command; says on stderr what its user has to know of the job it became. */
struct text_node *submit_command(struct cli *, const struct submit_opts *,
                                 const struct command_opts *, int argc, char **argv,
                                 struct err *err);
/* "12 ddp  (openpai v1)  2 roles, 4 tasks, 8 cpu", then warnings (to stderr). */
void submit_print(struct cli *, const struct text_node *submitted);

/* The path of the request with every option of these in it. */
struct submit_source {
    const char *route, *file, *text;
    size_t len;
};
int submit_path(struct cli *, const struct submit_opts *, const struct submit_source *,
                struct buf *path, struct err *err);

#endif
