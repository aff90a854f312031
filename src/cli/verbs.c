/* The table of verbs, and what is made of its rows: option tables, help, groups. A new verb is one
 * row here and a file of its own. */
#include "cli/cmd.h"

#include "base/mem.h"

#include <string.h>

/* In the order of help, by groups: daily work first. */
static const struct cmd *const verbs[] = {
    &cmd_run,     &cmd_submit,       &cmd_ls,       &cmd_show,   &cmd_logs,
    &cmd_events,  &cmd_wait,         &cmd_explain,  &cmd_stop,   &cmd_restart,
    &cmd_signal,  &cmd_suspend,      &cmd_resume,   &cmd_rm,     &cmd_exec,
    &cmd_cp,      &cmd_port_forward, &cmd_attach,   &cmd_check,  &cmd_convert,
    &cmd_apply,   &cmd_get,          &cmd_describe, &cmd_schema, &cmd_nodes,
    &cmd_pilot,   &cmd_drain,        &cmd_queues,   &cmd_launch, &cmd_simulate,
    &cmd_replay,  &cmd_doctor,       &cmd_server,   &cmd_config, &cmd_open,
    &cmd_user,    &cmd_key,          &cmd_token,    &cmd_secret, &cmd_client_config,
    &cmd_audit,   &cmd_backup,       &cmd_restore,  &cmd_env,    &cmd_completion,
    &cmd_version, &cmd_help_verb,    &cmd_man,      &cmd_words,
};
static const struct {
    const char *title;
    const struct cmd *first;
} groups[] = {
    { "Jobs", &cmd_run },         { "Files", &cmd_check },
    { "Cluster", &cmd_nodes },    { "Server and its users", &cmd_server },
    { "This program", &cmd_env },
};
static const struct {
    const struct cmd *cmd;
    const char *see; /* verbs that people go on with, with blanks between */
} related[] = {
    { &cmd_run, "submit check logs explain" },
    { &cmd_submit, "run ls wait apply" },
    { &cmd_ls, "show explain nodes" },
    { &cmd_show, "logs events explain exec" },
    { &cmd_logs, "show exec events" },
    { &cmd_events, "show logs" },
    { &cmd_wait, "run show" },
    { &cmd_explain, "queues nodes drain" },
    { &cmd_stop, "suspend rm signal" },
    { &cmd_restart, "stop signal events" },
    { &cmd_signal, "stop restart" },
    { &cmd_suspend, "resume stop" },
    { &cmd_resume, "suspend explain" },
    { &cmd_rm, "stop ls" },
    { &cmd_exec, "cp port-forward attach logs show" },
    { &cmd_cp, "exec show" },
    { &cmd_port_forward, "exec show" },
    { &cmd_attach, "run exec logs" },
    { &cmd_check, "convert schema run" },
    { &cmd_convert, "check schema" },
    { &cmd_apply, "get describe submit" },
    { &cmd_get, "describe apply" },
    { &cmd_describe, "get events" },
    { &cmd_schema, "check convert" },
    { &cmd_nodes, "drain pilot queues server" },
    { &cmd_pilot, "nodes explain" },
    { &cmd_drain, "nodes explain" },
    { &cmd_queues, "explain apply" },
    { &cmd_launch, "run env" },
    { &cmd_simulate, "replay explain" },
    { &cmd_replay, "simulate" },
    { &cmd_doctor, "nodes config" },
    { &cmd_server, "config doctor nodes" },
    { &cmd_config, "server" },
    { &cmd_open, "user token" },
    { &cmd_user, "key token" },
    { &cmd_key, "user client-config" },
    { &cmd_token, "user client-config" },
    { &cmd_secret, "audit run" },
    { &cmd_client_config, "key token" },
    { &cmd_audit, "user events" },
    { &cmd_backup, "restore server" },
    { &cmd_restore, "backup server" },
    { &cmd_env, "launch completion" },
    { &cmd_completion, "env" },
};

const char *cmd_group(const struct cmd *cmd)
{
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        if (groups[i].first == cmd)
            return groups[i].title;
    return NULL;
}

const char *cmd_related(const struct cmd *cmd)
{
    for (size_t i = 0; i < ARRAY_LEN(related); i++)
        if (related[i].cmd == cmd)
            return related[i].see;
    return NULL;
}

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
    if (cmd->examples)
        buf_puts(out, "\nExamples:\n");
    for (const char *const *e = cmd->examples; e && e[0]; e += 2) {
        buf_addf(out, "  %s\n", e[0]);
        if (e[1][0])
            buf_addf(out, "      %s\n", e[1]);
    }
    if (cmd_related(cmd))
        buf_addf(out, "\nSee also: %s\n", cmd_related(cmd));
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
