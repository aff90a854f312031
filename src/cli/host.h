/* What main gives the command line: settings of a server, and what it cannot do by HTTP. */
#ifndef CLI_HOST_H
#define CLI_HOST_H

#include "base/opt.h"
#include "dialect/dialect.h"

struct cli_simulation {
    const char *cluster, *workload; /* files */
    const char *const *policies;    /* "k=v" */
    size_t n_policies;
    const char *a, *b; /* more of them, run one after the other and put side by side; NULL: not */
    uint64_t seed;
    uint64_t explain;        /* what explain would say, of one job in so many; 0: of none */
    const char *json, *html; /* files; "-": stdout; NULL: not wanted */
    bool quiet;              /* no table */
};

struct cli_replay {
    const char *recording;
    const char *at;          /* a time or the number of an input; NULL: to the end */
    const char *seal_key;    /* NULL: where the recording says */
    const char *const *sets; /* "k=v" */
    size_t n_sets;
    bool json, quiet;
};

/* What is done to a server's records without it. */
enum records_what {
    RECORDS_CHECK,
    RECORDS_TRACES, /* numbers of the jobs that left something in the state directory: a list */
    RECORDS_RECOVER,
    RECORDS_RESTORE,
    RECORDS_LOOK /* reads a backup through: its manifest, with bytes and archives */
};
struct cli_records {
    enum records_what what;
    const char *state_dir;
    bool dry_run;     /* RECOVER, RESTORE */
    bool replace;     /* RESTORE: also where there are records */
    const char *file; /* RESTORE, LOOK; CHECK: a backup that a server made for it, or NULL */
    const struct text_node *traces; /* CHECK: as they were before the backup, or NULL: as now */
    const char *endpoint, *region;  /* RESTORE, from a store; NULL: as the environment has it */
    const uint64_t *segments; /* RESTORE, of a continuous backup: no more than so many, or NULL */
};

struct cli;
struct cli_host {
    const char *version;
    const char *program; /* as it is typed again: "muster", or the path of one that PATH lacks */
    const struct dialects *dialects;
    const struct opt *
        server_opts; /* settings of a server; offsets into an array of n_server_opts const char * */
    size_t n_server_opts;
    int (*server_run)(const char *version, const char *const *flags, struct err *err);
    /* The settings a server started now with these flags (n_server_opts of them) would have:
     * [{name, value, from, doc}]. NULL with err: it would not start. */
    struct text_node *(*settings)(struct arena *, const char *const *flags, struct err *err);
    /* Example places of a job's tasks, in flat order; false: they do not fit even an empty machine.
     */
    bool (*example)(const struct job_spec *, struct arena *, struct job_place *);
    /* What of a job that was read every server refuses: 0, or -1 with the report. */
    int (*refused)(const struct dialect_result *, struct report *);
    /* Path of muster-node, or NULL with err. */
    const char *(*node_program)(struct arena *, struct err *err);
    /* How this machine can run images, each way tried (main/runtime_asks.h). */
    void (*runtimes)(struct arena *, const char *node_program, const char *dir,
                     struct runtime_checks *);
    /* Runs a simulation and writes what is wanted, the table to stdout. 0 or -1. */
    int (*simulate)(const struct cli_simulation *, struct err *err);
    /* Prints two results beside each other. */
    int (*compare)(const char *a, const char *b, struct err *err);
    /* What was found or done, in arena; NULL with err. */
    struct text_node *(*records)(struct arena *, const struct cli_records *, struct err *err);
    /* Replays a recording and prints what it decides. Exit status, or -1. */
    int (*replay)(const char *version, const struct cli_replay *, struct err *err);
    int (*server_ensure)(struct cli *, struct err *); /* cli/server_start.h */
};

#endif
