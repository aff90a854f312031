/* A verb of the command line, and what every verb works with. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "base/arena.h"
#include "base/buf.h"
#include "cli/host.h"
#include "text/tree.h"

#include <stddef.h>

/* Options that every verb has; the first member of every verb's own. */
struct common_opts {
    bool json, quiet, help;
    const char *format, *state_dir, *server;
};
#define COMMON_OPTS                                                                                \
    { .name = "json",                                                                              \
      .type = OPT_FLAG,                                                                            \
      .offset = offsetof(struct common_opts, json),                                                \
      .help = "print one JSON document" },                                                         \
        COMMON_OPTS_BUT_JSON
#define COMMON_OPTS_BUT_JSON                                                                       \
    { .name = "output",                                                                            \
      .letter = 'o',                                                                               \
      .type = OPT_STR,                                                                             \
      .offset = offsetof(struct common_opts, format),                                              \
      .arg = "FORMAT",                                                                             \
      .help = "wide or json" },                                                                    \
        { .name = "quiet",                                                                         \
          .letter = 'q',                                                                           \
          .type = OPT_FLAG,                                                                        \
          .offset = offsetof(struct common_opts, quiet),                                           \
          .help = "print only numbers or ids" },                                                   \
        { .name = "state-dir",                                                                     \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct common_opts, state_dir),                                       \
          .arg = "DIR",                                                                            \
          .help = "of the server to talk to, whatever MUSTER_SERVER says" },                       \
        { .name = "server",                                                                        \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct common_opts, server),                                          \
          .arg = "URL",                                                                            \
          .help = "talk to http://HOST:PORT (token in MUSTER_TOKEN) or unix:PATH" },               \
    {                                                                                              \
        .name = "help", .letter = 'h', .type = OPT_FLAG,                                           \
        .offset = offsetof(struct common_opts, help), .help = "this text"                          \
    }

struct http_client;

struct cli {
    const struct cli_host *host;
    struct arena *arena;        /* of the whole call */
    struct http_client *client; /* made at the first call */
    char *state_dir, *url;      /* url: --server, or MUSTER_SERVER without --state-dir */
    char *const *words;         /* what stands behind the verb, as it was typed */
    int n_words;
    const struct shared_server *found; /* url is that of this user's own server on another machine,
                                        * which the home they share says; NULL: it is not */
    bool named_dir;                    /* state_dir is that of --state-dir */
    bool starts_ended; /* the first call starts the server of a home that machines share, when it
                        * was on this one */
    bool json, wide, quiet;
    bool dashes;            /* "--" was among the arguments: what follows is a command */
    bool tty, color;        /* of stdout */
    struct refused refused; /* this call, for what to type after it */
};

/* Did that operand stand behind a "--"? */
bool cmd_behind_dashes(const struct cli *, const char *word);

/* Exit statuses that are no errors. */
enum {
    EXIT_OK = 0,
    EXIT_JOB_FAILED = 1,
    EXIT_LOSSY = 1, /* a conversion that would lose something */
    EXIT_FOUND = 1, /* a check that found something */
    EXIT_USAGE = 2,
    EXIT_STOPPED = 3,
    EXIT_INTERRUPTED = 130
};

struct cmd {
    const char *name, *summary;
    const char *operands;   /* "FILE..." */
    const struct opt *opts; /* begins with the verb's own, ends with COMMON_OPTS */
    size_t size;            /* of its struct of options */
    unsigned parse;         /* enum opt_flags */
    bool raw; /* its arguments are another program's: none is looked at, opts is NULL in run */
    bool hidden, server_opts; /* server_opts: the server's settings follow its options (an array at
                                 the end of the struct) */
    const char *subs;         /* "start stop": first operands that completion offers, NULL none */
    const char *const *examples; /* command, meaning, ... NULL */
    /* Exit status, or -1 with err. */
    int (*run)(struct cli *, const void *opts, int argc, char **argv, struct err *err);
};

/* All verbs in the order of help. */
const struct cmd *const *cmd_all(size_t *n);
const struct cmd *cmd_find(const char *name); /* NULL when unknown */
/* Title of the group that begins with the verb; NULL: it goes on. */
const char *cmd_group(const struct cmd *);
const char *cmd_related(const struct cmd *); /* verbs to see also, or NULL */
/* The verb's rows and, where it has them, those of the server's settings; in arena. */
const struct opt *cmd_options(const struct cli *, const struct cmd *);
void cmd_help(const struct cli *, const struct cmd *, struct buf *out);

/* Checks the number of operands; max 0 with min 0: none. UINT: no bound. */
int cmd_operands(const struct cmd *, int argc, int min, int max, struct err *err);

extern const struct cmd cmd_server, cmd_run, cmd_submit, cmd_check, cmd_convert, cmd_ls, cmd_show,
    cmd_logs, cmd_events, cmd_wait, cmd_stop, cmd_restart, cmd_signal, cmd_suspend, cmd_resume,
    cmd_rm, cmd_exec, cmd_cp, cmd_port_forward, cmd_attach, cmd_nodes, cmd_pilot, cmd_queues,
    cmd_drain, cmd_user, cmd_key, cmd_token, cmd_secret, cmd_client_config, cmd_audit, cmd_backup,
    cmd_restore, cmd_explain, cmd_apply, cmd_get, cmd_describe, cmd_launch, cmd_config, cmd_schema,
    cmd_simulate, cmd_replay, cmd_doctor, cmd_env, cmd_completion, cmd_version, cmd_open,
    cmd_help_verb, cmd_man, cmd_words;

#endif
