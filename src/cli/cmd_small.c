/* Verbs of a few lines: config, schema, env, version, open, help. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "base/shell_word.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/manual.h"
#include "cli/out.h"
#include "cli/shell_word.h"
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

static int run_config(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct text_node *root = NULL;
    const struct text_node *list;
    struct table table;
    (void)o;
    (void)argv;
    if (cmd_operands(&cmd_config, argc, 0, 0, err) < 0)
        return -1;
    bool live = call_server_lives(cli);
    if (live || cli->url) {
        root = call_get(cli, "/v1/config", err);
        list = text_get(root, "config");
    } else {
        list = cli->host->settings(cli->arena, err);
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
    table_init(&table, cli->arena, config_columns, ARRAY_LEN(config_columns), cli->wide);
    for (const struct text_node *n = list->first; n; n = n->next) {
        const char **row = table_row(&table);
        row[0] = answer_text(n, "name", "");
        row[1] = answer_text(n, "value", "");
        row[2] = answer_text(n, "from", "");
        row[3] = answer_text(n, "doc", "");
    }
    table_print(&table, 0, cli->color, &out);
    out_buf(&out);
    if (!live && !cli->quiet)
        fputs("(no server runs: what one started now would have)\n", stderr);
    return EXIT_OK;
}

static const char *const config_examples[] = {
    "muster config",
    "each setting, its value, where that came from",
    "muster config -o wide",
    "and what it means",
    NULL,
};
const struct cmd cmd_config = {
    .name = "config",
    .summary = "the server's settings and where each came from",
    .operands = "",
    .opts = opts,
    .size = sizeof(struct common_opts),
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
        return err_hint(err, "muster schema job");
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
        return err_hint(err, "start it with --listen 127.0.0.1:6878");
    }
    if (cli->json) {
        out_json(link);
        return EXIT_OK;
    }
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
        return err_hint(err, "\"muster help\" lists them");
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
