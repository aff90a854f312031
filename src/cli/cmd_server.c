/* muster server: start, stop, status, check, recover, and run (the server itself, in the
 * foreground). Flags of start that are about more than one run are kept. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/in_job.h"
#include "cli/output.h"
#include "cli/records.h"
#include "cli/running_server.h"
#include "cli/server_start.h"
#include "cli/shared_home.h"
#include "cli/state_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server_verb_opts {
    struct common_opts common;
    bool dry_run, in_job;
    const char *partition;
    uint64_t time_ms;
    const char *flags[]; /* of the settings, in the order of host->server_opts */
};

static const struct opt opts[] = {
    { .name = "dry-run",
      .type = OPT_FLAG,
      .offset = offsetof(struct server_verb_opts, dry_run),
      .help = "recover: say what is there and what is missing, and change nothing" },
    { .name = "in-job",
      .type = OPT_FLAG,
      .offset = offsetof(struct server_verb_opts, in_job),
      .help = "start: in an allocation of Slurm that is the server's own" },
    { .name = "partition",
      .letter = 'p',
      .type = OPT_STR,
      .offset = offsetof(struct server_verb_opts, partition),
      .arg = "NAME",
      .help = "start --in-job: of Slurm's partitions (its default one)" },
    { .name = "time",
      .letter = 't',
      .type = OPT_DURATION,
      .offset = offsetof(struct server_verb_opts, time_ms),
      .arg = "TIME",
      .help = "start --in-job: how long, 7d (as long as the partition gives)" },
    COMMON_OPTS,
    OPT_END,
};

/* The settings' rows share --state-dir with the common ones, which win: it is handed on where it
 * was given, so that the server says where its directory is from. */
static const char *const *flags_of(struct cli *cli, const struct server_verb_opts *o)
{
    const char **flags = ARENA_ARRAY(cli->arena, cli->host->n_server_opts + 1, const char *);
    memcpy(flags, o->flags, cli->host->n_server_opts * sizeof *flags);
    for (size_t i = 0; cli->named_dir && i < cli->host->n_server_opts; i++)
        if (strcmp(cli->host->server_opts[i].name, "state-dir") == 0)
            flags[cli->host->server_opts[i].offset / sizeof *flags] = cli->state_dir;
    return flags;
}

/* One on another machine that shares this one's home must have ended; whoever starts one here gives
 * it up. */
static int leave_found(struct cli *cli, bool for_good, struct err *err)
{
    if (!cli->found)
        return 0;
    if (call_server_lives(cli)) {
        err_set(err, ERR_CONFLICT, "your server runs on %s", cli->found->host);
        return err_remedy(err, REMEDY_SERVER_STOP);
    }
    AUTO_FREE char *shared = for_good ? state_dir_shared(cli->state_dir) : NULL;
    if (shared)
        shared_home_give_up(shared, cli->found->host);
    call_drop(cli);
    cli->found = NULL;
    cli->url = NULL;
    return 0;
}

static int need_local(struct cli *cli, bool starts, struct err *err)
{
    if (starts && in_job_dir(cli) && (!cli->url || cli->found))
        return 0; /* it is Slurm that starts it */
    if (leave_found(cli, starts, err) < 0)
        return -1;
    if (!cli->url)
        return 0;
    err_set(err, ERR_INPUT, "a server elsewhere (%s) is not started from here", cli->url);
    return err_hint(err, "leave out --server and MUSTER_SERVER");
}

static int run_here(struct cli *cli, const struct server_verb_opts *o, struct err *err)
{
    if (leave_found(cli, true, err) < 0)
        return -1;
    return cli->host->server_run(cli->host->version, flags_of(cli, o), err);
}

static void print_runs_as(const struct text_node *s)
{
    const char *how = text_word(s, "jobs_run_as"), *user = text_word(s, "user");
    if (strcmp(how, "owner") == 0)
        puts("runs     each job as its owner's account");
    else if (strcmp(how, "own") == 0)
        printf("runs     jobs of %s only\n", user);
    else if (strcmp(how, "shared") == 0)
        printf("runs     everybody's jobs as %s (shared_account)\n", user);
}

static bool is_in_job(const struct cli *cli)
{
    return cli->found && *cli->found->allocation;
}

static void print_status(struct cli *cli, const struct text_node *s)
{
    char up[FMT_MAX];
    const struct text_node *stats = text_get(s, "stats");
    const char *address = text_word(s, "address");
    if (cli->json) {
        out_json(s);
        return;
    }
    if (cli->quiet) {
        printf("%llu\n", (unsigned long long)text_number(s, "pid"));
        return;
    }
    printf("server   %s, pid %llu, up %s\n", answer_text(s, "version", "?"),
           (unsigned long long)text_number(s, "pid"),
           fmt_age(up, text_number(s, "uptime_s") * 1000));
    printf("address  %s\n", *address ? address : "only its socket");
    if (is_in_job(cli))
        printf("runs in  allocation %s of Slurm, on %s\n", cli->found->allocation,
               cli->found->host);
    const struct text_node *agents = text_get(s, "agents");
    if (agents)
        printf("agents   %s, pin %s\n", answer_text(agents, "address", "?"),
               answer_text(agents, "pin", "?"));
    if (cli->wide)
        printf("socket   %s\n", answer_text(s, "socket", "?"));
    printf("state    %s\n", answer_text(s, "state_dir", "?"));
    print_runs_as(s);
    const char *key = server_setting(cli, "seal_key");
    if (*key)
        printf("key      %s\n", key);
    const struct text_node *backup = text_get(s, "backup");
    if (backup)
        printf("backup   %s\n", records_shipped(cli, backup));
    if (backup && text_get(backup, "error"))
        printf("failing  %s\n", text_word(backup, "error"));
    records_strangers(text_get(s, "strangers"));
    if (!stats)
        return;
    printf("jobs     %llu live, %llu of them waiting\n",
           (unsigned long long)text_number(stats, "live"),
           (unsigned long long)text_number(stats, "waiting"));
    printf("nodes    %llu of %llu up\n", (unsigned long long)text_number(stats, "nodes_up"),
           (unsigned long long)text_number(stats, "nodes"));
}

static int status(struct cli *cli, struct err *err)
{
    struct text_node *s = call_get(cli, "/v1/server", err);
    if (!s) {
        in_job_explain(cli, err);
        return -1;
    }
    if (is_in_job(cli))
        text_str(cli->arena, s, "allocation", cli->found->allocation);
    print_status(cli, s);
    return EXIT_OK;
}

/* The settings that were given by flag, by key. */
static void read_given(struct cli *cli, const struct server_verb_opts *o, struct pairs *given)
{
    for (size_t i = 0; i < cli->host->n_server_opts; i++) {
        const struct opt *row = &cli->host->server_opts[i];
        const char *value = o->flags[row->offset / sizeof *o->flags];
        char full[PATH_MAX];
        char *key = arena_strdup(cli->arena, row->name);
        for (char *c = key; *c; c++)
            *c = *c == '-' ? '_' : *c;
        bool is_path = row->arg && (strcmp(row->arg, "FILE") == 0 || strcmp(row->arg, "DIR") == 0);
        if (value && is_path && realpath(value, full)) /* the next server starts elsewhere */
            value = full;
        if (value && strcmp(key, "state_dir") != 0)
            pairs_set(given, cli->arena, key, value);
    }
}

/* What stands behind a -- is for sbatch. */
static int start_in_job(struct cli *cli, const struct server_verb_opts *o,
                        const struct pairs *given, int argc, char **argv, struct err *err)
{
    const struct in_job_ask ask = { .partition = o->partition,
                                    .time_ms = o->time_ms,
                                    .flags = (const char *const *)argv + 1,
                                    .n_flags = (size_t)argc - 1 };
    if (cli->url && !cli->found)
        return need_local(cli, true, err);
    if (argc > 1 && !cli->dashes) {
        err_set(err, ERR_INPUT, "\"%.60s\" is nothing that server start knows", argv[1]);
        return err_hint(err, "what is for sbatch stands behind a --");
    }
    return in_job_start(cli, &ask, given, err) < 0 ? -1 : status(cli, err);
}

static int start(struct cli *cli, const struct server_verb_opts *o, int argc, char **argv,
                 struct err *err)
{
    struct pairs given = { .n = 0 };
    read_given(cli, o, &given);
    if (o->in_job)
        return start_in_job(cli, o, &given, argc, argv, err);
    if (o->partition || o->time_ms) {
        err_set(err, ERR_INPUT, "--%s is of server start --in-job",
                o->partition ? "partition" : "time");
        return err_remedy_of(err, REMEDY_HELP_VERB, "server");
    }
    if (cmd_operands(&cmd_server, argc, 0, 1, err) < 0 || need_local(cli, true, err) < 0)
        return -1;
    return server_set(cli, &given, err) < 0 ? -1 : status(cli, err);
}

/* One that has not begun yet, or is not reached: Slurm ends its allocation. */
static int stop_asked(struct cli *cli, struct err *err)
{
    const char *id;
    struct err first;
    int rc = in_job_cancel(cli, &id, &first);
    if (rc < 0)
        *err = first;
    else if (rc == 0)
        in_job_explain(cli, err);
    if (rc != 1)
        return -1;
    if (!cli->json && !cli->quiet)
        printf("Slurm ends allocation %s, and your server with it\n", id);
    return EXIT_OK;
}

static int stop(struct cli *cli, struct err *err)
{
    struct text_node *s = call_get(cli, "/v1/server", err);
    uint64_t pid = text_number(s, "pid"), live = text_number(text_get(s, "stats"), "live");
    if (!s)
        return stop_asked(cli, err);
    if (server_end(cli, err) < 0)
        return -1;
    if (cli->json)
        out_json(s);
    else if (cli->quiet)
        printf("%llu\n", (unsigned long long)pid);
    else if (live)
        printf("server %llu ended; %llu %s on, the next server finds them\n",
               (unsigned long long)pid, (unsigned long long)live,
               live == 1 ? "job goes" : "jobs go");
    else
        printf("server %llu ended\n", (unsigned long long)pid);
    return EXIT_OK;
}

static int run_server(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    static const char *const subs[] = { "start", "stop", "status", "run", "check", "recover" };
    const struct server_verb_opts *o = opts_;
    const char *what = argc ? argv[0] : "status";
    if (strcmp(what, "start") == 0)
        return start(cli, o, argc, argv, err);
    if (cmd_operands(&cmd_server, argc, 0, 1, err) < 0)
        return -1;
    if (strcmp(what, "stop") == 0)
        return stop(cli, err);
    if (strcmp(what, "status") == 0)
        return status(cli, err);
    if (strcmp(what, "run") == 0)
        return run_here(cli, o, err);
    if (strcmp(what, "check") == 0)
        return records_check(cli, err);
    if (strcmp(what, "recover") == 0)
        return need_local(cli, false, err) < 0 ? -1 : records_recover(cli, o->dry_run, err);
    const char *near = scan_nearest(what, subs, ARRAY_LEN(subs));
    err_set(err, ERR_INPUT, "server %s: start, stop, status, run, check or recover", what);
    return near ? err_remedy_of(err, REMEDY_SERVER_SUB, "%s", near) : -1;
}

static const char *const examples[] = {
    "muster server start",
    "in the background, for this user",
    "muster server start --nodes '4x16cpu,64Gi,4gpu'",
    "four nodes as declared, larger than this machine if need be",
    "muster server start --in-job --partition service --time 7d",
    "in an allocation of Slurm of its own, where login nodes are no place for servers",
    "muster server status --json",
    "",
    "muster server stop",
    "jobs go on; the next server finds them",
    "muster server run --log-level debug",
    "in the foreground, log on the terminal",
    "muster server check",
    "read every page of the records, whether a server runs or not; 1 when something is wrong",
    "muster server recover --dry-run",
    "after damage to the records: what is there, what is missing; without --dry-run it mends",
    NULL,
};
const struct cmd cmd_server = {
    .name = "server",
    .summary = "start, stop or look at this user's server",
    .operands = "[start [-- SBATCH FLAGS]|stop|status|run|check|recover]",
    .opts = opts,
    .size = sizeof(struct server_verb_opts),
    .server_opts = true,
    .subs = "start stop status run check recover",
    .examples = examples,
    .run = run_server,
};
