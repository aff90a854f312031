/* From arguments to a verb's run: options, help, where the server is, how errors are shown. The
 * only place of the command line that turns errors into exit statuses. */
#include "cli/cli.h"

#include "base/mem.h"
#include "base/scan.h"
#include "base/script_name.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/state_dir.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

/* What people type who come from other systems; none of it is a verb here. */
static const struct {
    const char *word, *write;
} foreign_verbs[] = {
    { "attach", "muster logs -f JOB, or muster exec JOB for a shell in it" },
    { "cancel", "muster stop JOB" },
    { "delete", "muster stop JOB ends it, muster rm JOB forgets one that has ended" },
    { "info", "muster show JOB" },
    { "jobs", "muster ls" },
    { "kill", "muster stop JOB" },
    { "list", "muster ls" },
    { "ps", "muster ls" },
    { "sacct", "muster ls -a" },
    { "sbatch", "muster submit FILE" },
    { "scancel", "muster stop JOB" },
    { "sinfo", "muster nodes" },
    { "squeue", "muster ls" },
    { "srun", "muster run -- COMMAND" },
    { "ssh", "muster exec JOB [ROLE/INDEX]" },
    { "start", "muster run FILE, or muster submit FILE" },
    { "status", "muster ls, or muster show JOB" },
    { "top", "muster nodes" },
};

static int unknown_verb(const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(foreign_verbs); i++)
        if (strcmp(foreign_verbs[i].word, name) == 0) {
            err_set(err, ERR_INPUT, "\"%s\" is no verb", name);
            return err_hint(err, "%s", foreign_verbs[i].write);
        }
    const char *names[64];
    size_t n, count = 0;
    const struct cmd *const *all = cmd_all(&n);
    for (size_t i = 0; i < n && count < ARRAY_LEN(names); i++)
        if (!all[i]->hidden)
            names[count++] = all[i]->name;
    const char *near = scan_nearest(name, names, count);
    if (access(name, R_OK) == 0 && (strchr(name, '.') || strchr(name, '/'))) {
        err_set(err, ERR_INPUT, "\"%s\" is no verb", name);
        return err_remedy_of(err, REMEDY_RUN_FILE, "%s", name);
    }
    err_set(err, ERR_INPUT, "unknown verb \"%s\"", name);
    return near ? err_remedy_of(err, REMEDY_OTHER_VERB, "%s", near) : err_remedy(err, REMEDY_HELP);
}

static int read_common(struct cli *cli, const struct common_opts *o, struct err *err)
{
    const char *none = getenv("NO_COLOR");
    const char *url = o->server || o->state_dir ? o->server : getenv("MUSTER_SERVER");
    const char *format = o->format ? o->format : "";
    if (*format && strcmp(format, "wide") != 0 && strcmp(format, "json") != 0) {
        err_set(err, ERR_INPUT, "--output: \"%s\" is not a format", format);
        return err_hint(err, "wide or json");
    }
    cli->json = o->json || strcmp(format, "json") == 0;
    cli->wide = strcmp(format, "wide") == 0;
    cli->quiet = o->quiet;
    cli->tty = isatty(STDOUT_FILENO) == 1;
    cli->color = cli->tty && !(none && *none) && out_color_err();
    cli->url = url && *url ? arena_strdup(cli->arena, url) : NULL;
    cli->refused.elsewhere = cli->url != NULL;
    AUTO_FREE char *dir = state_dir_find(o->state_dir, err);
    if (!dir)
        return -1;
    cli->state_dir = arena_strdup(cli->arena, dir);
    cli->named_dir = o->state_dir != NULL;
    if (!cli->url && !cli->named_dir)
        call_find_server(cli);
    return 0;
}

static int run_parsed(struct cli *cli, const struct cmd *cmd, const void *opts, int argc,
                      char **argv, struct err *err)
{
    const struct common_opts *common = opts;
    if (common->help) {
        AUTO_BUF struct buf text = BUF_INIT(1 << 20);
        cmd_help(cli, cmd, &text);
        out_buf(&text);
        return EXIT_OK;
    }
    if (read_common(cli, common, err) < 0)
        return -1;
    cli->starts_ended = !cmd->hidden && strcmp(cmd->name, "server") != 0;
    return cmd->run(cli, opts, argc, argv, err);
}

bool cmd_behind_dashes(const struct cli *cli, const char *word)
{
    int i = 0;
    while (i < cli->n_words && strcmp(cli->words[i], "--") != 0 && cli->words[i] != word)
        i++;
    return i < cli->n_words && cli->words[i] != word;
}

/* Was there a "--"? What stands behind a script is the script's own. */
static bool has_dashes(const struct cli *cli, int argc, char **argv)
{
    bool script = argc > 0 && script_is_name(argv[0]);
    for (int i = 0; i < cli->n_words; i++) {
        if (script && cli->words[i] == argv[0])
            return false;
        if (strcmp(cli->words[i], "--") == 0)
            return true;
    }
    return false;
}

static int run_cmd(struct cli *cli, const struct cmd *cmd, int argc, char **argv, struct err *err)
{
    if (cmd->raw)
        return cmd->run(cli, NULL, argc, argv, err);
    const struct opt *rows = cmd_options(cli, cmd);
    size_t more = cmd->server_opts ? cli->host->n_server_opts * sizeof(const char *) : 0;
    void *opts = arena_alloc(cli->arena, cmd->size + more);
    char **words = ARENA_ARRAY(cli->arena, (size_t)argc + 1, char *); /* reading reorders them */
    memcpy(words, argv, (size_t)argc * sizeof *words);
    cli->words = words;
    cli->n_words = argc;
    int rc = opt_parse(rows, opts, &argc, argv, cmd->parse, err);
    cli->dashes = rc == 0 && has_dashes(cli, argc, argv);
    if (rc == 0)
        rc = run_parsed(cli, cmd, opts, argc, argv, err);
    opt_fini(rows, opts);
    return rc;
}

static const char *verb_alias(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return "help";
    return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ? "version" : word;
}

/* What was written and did not arrive (a full disk, mostly) must not look like success. */
static int flush_out(int status, struct err *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    return errno == EPIPE ? status : err_sys(err, "standard output");
}

/* The call as it was typed, before options are taken out of it: what remedies repeat. */
static void keep_typed(struct cli *cli, int argc, char **argv)
{
    static const char *const servers[] = { "--state-dir", "--server" };
    const char **words = ARENA_ARRAY(cli->arena, (size_t)argc + 1, const char *);
    const char **where = ARENA_ARRAY(cli->arena, (size_t)argc + 1, const char *);
    struct refused *r = &cli->refused;
    *r = (struct refused){
        .program = cli->host->program, .argv = words, .argc = (size_t)argc, .where = where
    };
    memcpy(words, argv, (size_t)argc * sizeof *words);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t k = 0; k < ARRAY_LEN(servers); k++) {
            size_t n = strlen(servers[k]);
            if (strncmp(argv[i], servers[k], n) != 0 || (argv[i][n] && argv[i][n] != '='))
                continue;
            where[r->n_where++] = argv[i];
            if (!argv[i][n] && i + 1 < argc)
                where[r->n_where++] = argv[++i];
            break;
        }
}

int cli_main(const struct cli_host *host, int argc, char **argv)
{
    struct cli cli = { .host = host, .arena = arena_create() };
    struct err err = { .code = ERR_NONE };
    int rc = -1;
    setlocale(LC_CTYPE, "");
    out_guard();
    keep_typed(&cli, argc, argv);
    const char *word = argc ? verb_alias(argv[0]) : "help";
    const struct cmd *cmd = cmd_find(word);
    if (cmd)
        rc = run_cmd(&cli, cmd, argc ? argc - 1 : 0, argc ? argv + 1 : argv, &err);
    else
        unknown_verb(word, &err);
    if (rc >= 0)
        rc = flush_out(rc, &err);
    if (rc < 0) {
        out_error(&cli, &err);
        rc = err_exit_status(err.code);
    }
    call_drop(&cli);
    arena_destroy(cli.arena);
    return argc ? rc : EXIT_USAGE;
}
