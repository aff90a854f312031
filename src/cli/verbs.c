/* The table of verbs, and what is made of its rows: option tables, help. */
#include "cli/cmd.h"

#include "base/mem.h"

#include <string.h>

/* In the order of help: daily work first. */
static const struct cmd *const verbs[] = {
    &cmd_run,     &cmd_submit,        &cmd_check,   &cmd_convert,   &cmd_ls,
    &cmd_show,    &cmd_logs,          &cmd_events,  &cmd_wait,      &cmd_stop,
    &cmd_restart, &cmd_signal,        &cmd_suspend, &cmd_resume,    &cmd_rm,
    &cmd_exec,    &cmd_explain,       &cmd_apply,   &cmd_get,       &cmd_describe,
    &cmd_queues,  &cmd_nodes,         &cmd_drain,   &cmd_user,      &cmd_key,
    &cmd_token,   &cmd_client_config, &cmd_launch,  &cmd_server,    &cmd_config,
    &cmd_schema,  &cmd_simulate,      &cmd_replay,  &cmd_doctor,    &cmd_open,
    &cmd_env,     &cmd_completion,    &cmd_version, &cmd_help_verb, &cmd_man,
};

const struct cmd *const *cmd_all(size_t *n)
{
    *n = ARRAY_LEN(verbs);
    return verbs;
}

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

static size_t count_rows(const struct opt *rows)
{
    size_t n = 0;
    while (rows[n].name)
        n++;
    return n;
}

static bool has_row(const struct opt *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

const struct opt *cmd_options(const struct cli *cli, const struct cmd *cmd)
{
    size_t own = count_rows(cmd->opts), more = cmd->server_opts ? cli->host->n_server_opts : 0,
           n = own;
    if (!more)
        return cmd->opts;
    struct opt *rows = ARENA_ARRAY(cli->arena, own + more + 1, struct opt);
    memcpy(rows, cmd->opts, own * sizeof *rows);
    for (size_t i = 0; i < more; i++) {
        if (has_row(rows, own, cli->host->server_opts[i].name))
            continue;
        rows[n] = cli->host->server_opts[i];
        rows[n++].offset += cmd->size;
    }
    return rows;
}

void cmd_help(const struct cli *cli, const struct cmd *cmd, struct buf *out)
{
    buf_addf(out, "muster %s: %s\n\n  muster %s [options] %s\n\n", cmd->name, cmd->summary,
             cmd->name, cmd->operands);
    opt_help(cmd_options(cli, cmd), out);
    if (!cmd->examples)
        return;
    buf_puts(out, "\nExamples:\n");
    for (const char *const *e = cmd->examples; e[0]; e += 2) {
        buf_addf(out, "  %s\n", e[0]);
        if (e[1][0])
            buf_addf(out, "      %s\n", e[1]);
    }
}

int cmd_operands(const struct cmd *cmd, int argc, int min, int max, struct err *err)
{
    if (argc >= min && argc <= max)
        return 0;
    if (argc < min)
        err_set(err, ERR_INPUT, "%s needs %s", cmd->name, cmd->operands);
    else
        err_set(err, ERR_INPUT, "%s takes no more than %d operand%s", cmd->name, max,
                max == 1 ? "" : "s");
    err_hint(err, "%s %s", cmd->name, cmd->operands);
    return err_remedy_of(err, REMEDY_HELP_VERB, "%s", cmd->name);
}
