/* Verbs of a few lines: config, schema, env, version, open, help. Most need no server; config shows
 * the running one's settings where there is one. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "base/shell_word.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/in_job.h"
#include "cli/manual.h"
#include "cli/output.h"
#include "cli/settings_file.h"
#include "cli/table.h"
#include "job/job.h"
#include "text/json.h"

#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const struct opt opts[] = { COMMON_OPTS, OPT_END };

/* ---- config ---- */

static const struct table_column config_columns[] = { { .title = "NAME" },
                                                      { .title = "VALUE" },
                                                      { .title = "FROM" },
                                                      { .title = "MEANING", .wide = true } };

struct config_opts {
    struct common_opts common;
    const char *drop;
};
static const struct opt config_opts[] = {
    { .name = "drop",
      .type = OPT_STR,
      .offset = offsetof(struct config_opts, drop),
      .arg = "NAME",
      .help = "forget what was kept of a setting that an earlier server was given" },
    COMMON_OPTS,
    OPT_END,
};

/* Those that a server started now would have; the flags are in the order of the host's options. */
static struct text_node *settings_here(struct cli *cli, struct err *err)
{
    const char **flags = ARENA_ARRAY(cli->arena, cli->host->n_server_opts + 1, const char *);
    for (size_t i = 0; cli->named_dir && i < cli->host->n_server_opts; i++)
        if (strcmp(cli->host->server_opts[i].name, "state-dir") == 0)
            flags[cli->host->server_opts[i].offset / sizeof *flags] = cli->state_dir;
    return cli->host->settings(cli->arena, flags, err);
}

static int drop_kept(struct cli *cli, const char *name, bool live, struct err *err)
{
    const char *in_job = in_job_dir(cli), *kept_in = in_job ? in_job : cli->state_dir;
    int rc = settings_file_drop(cli->arena, kept_in, name, err);
    if (rc < 0)
        return -1;
    if (rc == 0) {
        err_set(err, ERR_NOT_FOUND, "nothing is kept of \"%.60s\"", name);
        return err_remedy(err, REMEDY_LIST_SETTINGS);
    }
    if (!cli->quiet)
        printf("%s is not kept any more%s\n", name,
               live ? "; the server that runs has it until it ends" : "");
    return EXIT_OK;
}

static void print_config(struct cli *cli, const struct text_node *list, const struct pairs *kept)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct table table;
    bool any = false;
    table_init(&table, cli->arena, config_columns, ARRAY_LEN(config_columns), cli->wide);
    for (const struct text_node *n = list->first; n; n = n->next) {
        const char **row = table_row(&table);
        const char *was = pairs_get(kept, text_word(n, "name"));
        row[0] = text_word(n, "name");
        row[1] = text_word(n, "value");
        row[2] = text_word(n, "from");
        row[3] = text_word(n, "doc");
        if (was && strcmp(row[2], "flag") == 0 && strcmp(row[1], was) == 0)
            row[2] = "flag, kept";
        any = any || was;
    }
    table_print(&table, 0, cli->color, &out);
    if (any && !cli->quiet)
        buf_addf(&out,
                 "\nkept: given to a server of this state directory before; \"%s\" drops it\n",
                 out_command(cli, REMEDY_DROP_KEPT, kept->at[0].name));
    out_buf(&out);
}

static int run_config(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct config_opts *o = opts_;
    struct text_node *root = NULL;
    const struct text_node *list;
    struct pairs kept = { .n = 0 };
    (void)argv;
    if (cmd_operands(&cmd_config, argc, 0, 0, err) < 0)
        return -1;
    bool live = call_server_lives(cli);
    if (o->drop)
        return drop_kept(cli, o->drop, live, err);
    if (!cli->url && settings_file_read(cli->arena, cli->state_dir, &kept, err) < 0)
        return -1;
    if (live || cli->url) {
        root = call_get(cli, "/v1/config", err);
        list = text_get(root, "config");
    } else {
        list = settings_here(cli, err);
        root = list ? text_map(cli->arena, NULL, NULL) : NULL;
        if (list)
            text_copy(cli->arena, root, "config", list);
    }
    if (!root || !list)
        return -1;
    if (cli->json) {
        out_json(root);
        return EXIT_OK;
    }
    print_config(cli, list, &kept);
    if (!live && !cli->quiet)
        fputs("(no server runs: what one started now would have)\n", stderr);
    return EXIT_OK;
}

static const char *const config_examples[] = {
    "muster config",
    "each setting, its value, where that came from",
    "muster config -o wide",
    "and what it means",
    "muster config --drop nodes",
    "forget the nodes that an earlier server was given",
    NULL,
};
const struct cmd cmd_config = {
    .name = "config",
    .summary = "the server's settings and where each came from",
    .operands = "",
    .opts = config_opts,
    .size = sizeof(struct config_opts),
    .examples = config_examples,
    .run = run_config,
};

/* ---- schema ---- */

static int run_schema(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    (void)o;
    if (cmd_operands(&cmd_schema, argc, 0, 1, err) < 0)
        return -1;
    if (argc && strcmp(argv[0], "job") != 0) {
        err_set(err, ERR_INPUT, "there is no schema \"%.60s\"", argv[0]);
        return err_remedy(err, REMEDY_SCHEMA_JOB);
    }
    out_json(job_schema(cli->arena));
    return EXIT_OK;
}

static const char *const schema_examples[] = { "muster schema job > job.schema.json",
                                               "for editors: completion and checks of job files",
                                               NULL };
const struct cmd cmd_schema = {
    .name = "schema",
    .summary = "JSON Schema of muster's own job format",
    .operands = "[job]",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .subs = "job",
    .examples = schema_examples,
    .run = run_schema,
};

/* ---- env ---- */

/* Where muster-node lies, beside it dlc, and in folders of their own the launchers' names. */
static int run_env(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    static const char *const folders[] = { "", "/torchrun", "/launch" };
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    (void)o;
    (void)argv;
    if (cmd_operands(&cmd_env, argc, 0, 0, err) < 0)
        return -1;
    const char *node = cli->host->node_program(cli->arena, err);
    const char *slash = node ? strrchr(node, '/') : NULL;
    char real[PATH_MAX];
    if (!node)
        return -1;
    const char *dir =
        arena_printf(cli->arena, "%.*s", slash ? (int)(slash - node) : 1, slash ? node : ".");
    if (!realpath(dir, real))
        return err_sys(err, "%s", dir);
    buf_puts(&out, "export PATH=");
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        shell_word(&out, arena_printf(cli->arena, "%s%s", real, folders[i]));
        buf_putc(&out, ':');
    }
    buf_puts(&out, "\"$PATH\"\n");
    out_buf(&out);
    return EXIT_OK;
}

static const char *const env_examples[] = {
    "eval \"$(muster env)\"", "dlc, torchrun and dlrover-run on the PATH of this shell", NULL
};
const struct cmd cmd_env = {
    .name = "env",
    .summary = "the line that puts muster's other names on your PATH",
    .operands = "",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .examples = env_examples,
    .run = run_env,
};

/* ---- version ---- */

static int run_version(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    (void)o;
    (void)argv;
    if (cmd_operands(&cmd_version, argc, 0, 0, err) < 0)
        return -1;
    if (cli->json) {
        struct text_node *root = text_map(cli->arena, NULL, NULL);
        text_str(cli->arena, root, "version", cli->host->version);
        out_json(root);
    } else {
        printf("muster %s\n", cli->host->version);
    }
    return EXIT_OK;
}

const struct cmd cmd_version = {
    .name = "version",
    .summary = "the version of this program",
    .operands = "",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .run = run_version,
};

/* ---- open ---- */

/* 0 when a browser took it. */
static int browse(const char *url)
{
    static const char *const openers[] = { "xdg-open", "open", "wslview" };
    const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    if (!(display && *display) && !(wayland && *wayland))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(openers); i++) {
        char *argv[] = { mem_strdup(openers[i]), mem_strdup(url), NULL };
        pid_t pid;
        int status = -1;
        if (posix_spawnp(&pid, openers[i], NULL, NULL, argv, environ) == 0)
            waitpid(pid, &status, 0);
        free(argv[0]);
        free(argv[1]);
        if (status == 0)
            return 0;
    }
    return -1;
}

/* "http://host:6878" of "http://host:6878/". */
static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    return (size_t)(host - url) + strcspn(host, "/");
}

static int run_open(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    (void)o;
    (void)argv;
    if (cmd_operands(&cmd_open, argc, 0, 0, err) < 0)
        return -1;
    const struct text_node *link =
        call_send(cli, &(struct call){ .method = "POST", .path = "/v1/login-link" }, err);
    const char *url = answer_text(link, "url", NULL);
    if (!link)
        return -1;
    if (!url || strncmp(url, "http", 4) != 0) {
        err_set(err, ERR_CANNOT, "the server listens on its socket only: browsers cannot reach it");
        return err_remedy_of(err, REMEDY_SERVER_LISTEN, "127.0.0.1:6878");
    }
    if (cli->json) {
        out_json(link);
        return EXIT_OK;
    }
    const char *path = strstr(url, "/login");
    if (path && cli->url && strncmp(cli->url, "http", 4) == 0) /* as it is reached from here */
        url = arena_printf(cli->arena, "%.*s%s", (int)origin_length(cli->url), cli->url, path);
    printf("%s\n", url);
    if (!cli->quiet)
        fputs("(works once, for this browser)\n", stderr);
    fflush(stdout);
    browse(url);
    return EXIT_OK;
}

static const char *const open_examples[] = { "muster open",
                                             "jobs, tasks and live logs in a browser", NULL };
const struct cmd cmd_open = {
    .name = "open",
    .summary = "the server's page in a browser, by a one-time link",
    .operands = "",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .examples = open_examples,
    .run = run_open,
};

/* ---- help ---- */

static int run_help(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    (void)o;
    if (cmd_operands(&cmd_help_verb, argc, 0, 1, err) < 0)
        return -1;
    const struct cmd *cmd = argc ? cmd_find(argv[0]) : NULL;
    if (argc && !cmd) {
        err_set(err, ERR_INPUT, "unknown verb \"%.60s\"", argv[0]);
        return err_remedy(err, REMEDY_HELP);
    }
    if (cmd && cmd->raw) {
        char flag[] = "--help";
        char *words[] = { flag, NULL };
        return cmd->run(cli, NULL, 1, words, err);
    }
    if (cmd)
        cmd_help(cli, cmd, &out);
    else
        manual_overview(cli, &out);
    out_buf(&out);
    return EXIT_OK;
}

const struct cmd cmd_help_verb = {
    .name = "help",
    .summary = "this list, or the help of one verb",
    .operands = "[VERB]",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .run = run_help,
};
