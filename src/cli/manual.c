/* Everything here is written from the tables, so that it cannot differ from what the program does.
 *
 * Verbs: completion, man. */
#include "cli/manual.h"

#include "base/mem.h"
#include "cli/output.h"

#include <ctype.h>
#include <string.h>

/* ---- overview ---- */

void manual_overview(const struct cli *cli, struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_addf(
        out,
        "muster %s: run distributed deep-learning jobs\n\n"
        "  muster run FILE             submit a job file (OpenPAI, PAI-DLC, ElasticJob, native), follow it\n"
        "  muster run -- COMMAND...    the same without a file\n",
        cli->host->version);
    for (size_t i = 0; i < n; i++) {
        if (cmd_group(all[i]))
            buf_addf(out, "\n%s\n", cmd_group(all[i]));
        if (!all[i]->hidden)
            buf_addf(out, "  %-14s %s\n", all[i]->name, all[i]->summary);
    }
    buf_puts(
        out,
        "\nmuster VERB --help shows options and examples. A job is named by its number, name or id.\n"
        "Exit: 0 succeeded, 1 job failed (or the system did: a full disk), 2 bad input or usage,\n"
        "3 stopped, 4 no answer from the server, 5 not allowed, 130 interrupted while the job goes on.\n");
}

/* ---- man page ---- */

/* Roff text: backslashes and leading dots would be commands, dashes are meant as typed. */
static void roff(struct buf *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        buf_puts(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            buf_puts(out, "\\e");
        else if (*text == '-')
            buf_puts(out, "\\-");
        else
            buf_putc(out, *text);
    }
}

static void man_option(struct buf *out, const struct opt *o)
{
    buf_puts(out, ".TP\n.B ");
    if (o->letter)
        buf_addf(out, "\\-%c, ", o->letter);
    buf_puts(out, "\\-\\-");
    roff(out, o->name);
    if (o->arg) {
        buf_puts(out, " \\fI");
        roff(out, o->arg);
        buf_puts(out, "\\fR");
    }
    buf_putc(out, '\n');
    roff(out, o->help ? o->help : "");
    buf_putc(out, '\n');
}

static bool is_common(const char *name)
{
    static const struct opt common[] = { COMMON_OPTS, OPT_END };
    for (const struct opt *o = common; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* Options of its own and examples. */
static void man_body(const struct cli *cli, const struct cmd *cmd, struct buf *out)
{
    for (const struct opt *o = cmd_options(cli, cmd); o->name; o++)
        if (!is_common(o->name))
            man_option(out, o);
    for (const char *const *e = cmd->examples; e && e[0]; e += 2) {
        buf_puts(out, ".PP\n.EX\n  ");
        roff(out, e[0]);
        buf_puts(out, "\n.EE\n");
        roff(out, e[1]);
        buf_puts(out, e[1][0] ? "\n" : "");
    }
}

static void man_verb(const struct cli *cli, const struct cmd *cmd, struct buf *out)
{
    buf_puts(out, ".SS muster ");
    roff(out, cmd->name);
    buf_putc(out, ' ');
    roff(out, cmd->operands);
    buf_putc(out, '\n');
    roff(out, cmd->summary);
    buf_puts(out, ".\n");
    man_body(cli, cmd, out);
    if (cmd_related(cmd)) {
        buf_puts(out, ".PP\nSee also: ");
        roff(out, cmd_related(cmd));
        buf_putc(out, '\n');
    }
}

static const char man_files[] =
    ".SH ENVIRONMENT\n"
    "MUSTER_STATE_DIR, and MUSTER_ with the capital name of each setting that \"muster config\" lists;\n"
    "MUSTER_SERVER and MUSTER_TOKEN to talk to a server elsewhere (\\-\\-server and \\-\\-state\\-dir win),\n"
    "SSL_CERT_FILE to trust it over https; NO_COLOR.\n"
    ".SH FILES\n.TP\n~/.local/state/muster\nrecords, logs, socket, token (0600), server.json, server.log\n"
    ".TP\n~/.config/muster/config.yaml\nsettings of the server\n"
    ".SH EXIT STATUS\n0 succeeded, 1 job failed (or the system did: a full disk), 2 bad input or usage, 3\n"
    "stopped, 4 no answer from the server, 5 not allowed, 130 interrupted while the job goes on.\n";

void manual_man_verb(const struct cli *cli, const struct cmd *cmd, struct buf *out)
{
    static const struct opt common[] = { COMMON_OPTS, OPT_END };
    buf_puts(out, ".TH MUSTER\\-");
    for (const char *c = cmd->name; *c; c++)
        roff(out, (char[]){ (char)toupper((unsigned char)*c), '\0' });
    buf_addf(out, " 1 \"\" \"muster %s\" \"User Commands\"\n.SH NAME\nmuster\\-",
             cli->host->version);
    roff(out, cmd->name);
    buf_puts(out, " \\- ");
    roff(out, cmd->summary);
    buf_puts(out, "\n.SH SYNOPSIS\n.B muster ");
    roff(out, cmd->name);
    buf_puts(out, "\n[options] ");
    roff(out, cmd->operands);
    buf_puts(out, "\n.SH OPTIONS AND EXAMPLES\n");
    man_body(cli, cmd, out);
    buf_puts(out, ".SH OPTIONS OF EVERY VERB\n");
    for (const struct opt *o = common; o->name; o++)
        man_option(out, o);
    buf_puts(out, ".SH SEE ALSO\n.BR muster (1)");
    for (const char *at = cmd_related(cmd); at && *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        buf_addf(out, ",\n.BR muster\\-%.*s (1)", (int)len, at);
        at += len;
    }
    buf_putc(out, '\n');
}

void manual_man(const struct cli *cli, struct buf *out)
{
    static const struct opt common[] = { COMMON_OPTS, OPT_END };
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_addf(out, ".TH MUSTER 1 \"\" \"muster %s\" \"User Commands\"\n", cli->host->version);
    buf_puts(
        out,
        ".SH NAME\nmuster \\- run distributed deep\\-learning jobs\n"
        ".SH SYNOPSIS\n.B muster\n.I VERB\n[options] [operands]\n"
        ".SH DESCRIPTION\nmuster takes a job the way its owner already wrote it, holds it until every task it\n"
        "needs can start together, starts them with the environment that format promises, keeps them\n"
        "alive through faults, and tells at every moment what happens and why.\n"
        ".SH OPTIONS OF EVERY VERB\n");
    for (const struct opt *o = common; o->name; o++)
        man_option(out, o);
    buf_puts(out, ".SH VERBS\n");
    for (size_t i = 0; i < n; i++)
        if (!all[i]->hidden)
            man_verb(cli, all[i], out);
    buf_puts(out, man_files);
}

/* ---- completion ---- */

static bool takes_files(const struct cmd *cmd)
{
    return strstr(cmd->operands, "FILE") != NULL;
}

static bool takes_jobs(const struct cmd *cmd)
{
    return strstr(cmd->operands, "JOB") != NULL;
}

/* Behind a job. */
static bool takes_tasks(const struct cmd *cmd)
{
    return strstr(cmd->operands, "ROLE") != NULL || strstr(cmd->operands, "TASK") != NULL;
}

static bool takes_nodes(const struct cmd *cmd)
{
    return strstr(cmd->operands, "NODE") != NULL;
}

/* What the value of an option is a name of. */
static bool is_format(const struct opt *o)
{
    return strcmp(o->name, "from") == 0 || strcmp(o->name, "to") == 0;
}

static void bash_verb(const struct cli *cli, const struct cmd *cmd, struct buf *out)
{
    buf_addf(out, "    %s)\n        opts=\"", cmd->name);
    for (const struct opt *o = cmd_options(cli, cmd); o->name; o++)
        buf_addf(out, "--%s ", o->name);
    buf_addf(out, "\"\n        words=\"%s\"\n        kind=%s tasks=%s files=%s;;\n",
             cmd->subs ? cmd->subs : "",
             takes_jobs(cmd)    ? "jobs"
             : takes_nodes(cmd) ? "nodes"
                                : "",
             takes_tasks(cmd) ? "1" : "", takes_files(cmd) ? "1" : "");
}

static void put_names(struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    for (size_t i = 0; i < n; i++)
        if (!all[i]->hidden)
            buf_addf(out, "%s%s", i ? " " : "", all[i]->name);
}

static void bash(const struct cli *cli, struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_puts(
        out,
        "# bash completion of muster, written by \"muster completion bash\"\n_muster() {\n"
        "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" verb=\"${COMP_WORDS[1]}\"\n"
        "    local before=\"${COMP_WORDS[COMP_CWORD-1]}\" opts=\"\" words=\"\" kind=\"\" tasks=\"\" files=\"\" job=\"\" i\n"
        "    COMPREPLY=()\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        mapfile -t COMPREPLY < <(compgen -W \"");
    put_names(out);
    buf_puts(out, "\" -- \"$cur\")\n        return\n    fi\n    case \"$verb\" in\n");
    for (size_t i = 0; i < n; i++)
        if (!all[i]->hidden)
            bash_verb(cli, all[i], out);
    buf_puts(
        out,
        "    esac\n    if [[ \"$before\" == --from || \"$before\" == --to ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$(muster words formats 2>/dev/null)\" -- \"$cur\")\n        return\n    fi\n"
        "    if [[ \"$cur\" == -* ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$opts\" -- \"$cur\")\n        return\n    fi\n"
        "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
        "        if [[ \"${COMP_WORDS[i]}\" != -* ]]; then job=\"${COMP_WORDS[i]}\"; break; fi\n    done\n"
        "    if [ -n \"$tasks\" ] && [ -n \"$job\" ]; then\n"
        "        words=\"$(muster words tasks \"$job\" 2>/dev/null)\"\n"
        "    elif [ -n \"$kind\" ]; then words+=\" $(muster words \"$kind\" 2>/dev/null)\"; fi\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
        "    if [ -n \"$files\" ]; then mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$cur\"); fi\n"
        "}\ncomplete -o filenames -F _muster muster\n");
}

/* Text inside single quotes of zsh and fish, where brackets and colons of help would be read as
 * syntax. */
static void plain(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_putc(out, strchr("'[]:\\", *text) ? ' ' : *text);
}

static void zsh_verb(const struct cli *cli, const struct cmd *cmd, struct buf *out)
{
    buf_addf(out, "    %s) _arguments -s", cmd->name);
    for (const struct opt *o = cmd_options(cli, cmd); o->name; o++) {
        const char *often = o->type == OPT_LIST ? "*" : "";
        if (o->letter)
            buf_addf(out, " \\\n        %s{-%c,--%s}'[", *often ? "'*'" : "", o->letter, o->name);
        else
            buf_addf(out, " \\\n        '%s--%s[", often, o->name);
        plain(out, o->help ? o->help : "");
        buf_puts(out, "]");
        if (o->type != OPT_FLAG)
            buf_puts(out, is_format(o) ? ":format:($(muster words formats 2>/dev/null))"
                                       : ":value:_files");
        buf_puts(out, "'");
    }
    if (cmd->subs)
        buf_addf(out, " \\\n        '1:what:(%s)'", cmd->subs);
    else if (takes_tasks(cmd))
        buf_puts(out, " \\\n        '1:job:($(muster words jobs 2>/dev/null))' \\\n"
                      "        '*:task:($(muster words tasks $line[1] 2>/dev/null))'");
    else if (takes_jobs(cmd) || takes_nodes(cmd))
        buf_addf(out, " \\\n        '*:%s:($(muster words %s 2>/dev/null))'",
                 takes_jobs(cmd) ? "job" : "node", takes_jobs(cmd) ? "jobs" : "nodes");
    else if (takes_files(cmd))
        buf_puts(out, " \\\n        '*:file:_files'");
    buf_puts(out, " ;;\n");
}

static void zsh(const struct cli *cli, struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_puts(
        out,
        "#compdef muster\n# zsh completion of muster, written by \"muster completion zsh\"\n_muster() {\n"
        "    local -a verbs\n    verbs=(\n");
    for (size_t i = 0; i < n; i++) {
        if (all[i]->hidden)
            continue;
        buf_addf(out, "        '%s:", all[i]->name);
        plain(out, all[i]->summary);
        buf_puts(out, "'\n");
    }
    buf_puts(
        out,
        "    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n    fi\n"
        "    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n");
    for (size_t i = 0; i < n; i++)
        if (!all[i]->hidden)
            zsh_verb(cli, all[i], out);
    /* Read from a folder of functions it is the function; read by a shell's start it says what it
     * is. */
    buf_puts(out, "    esac\n}\nif [[ $funcstack[1] = _muster ]]; then _muster \"$@\"; "
                  "else compdef _muster muster; fi\n");
}

static void fish_verb(const struct cli *cli, const struct cmd *cmd, struct buf *out)
{
    buf_addf(out, "complete -c muster -n __fish_use_subcommand -f -a %s -d '", cmd->name);
    plain(out, cmd->summary);
    buf_puts(out, "'\n");
    for (const struct opt *o = cmd_options(cli, cmd); o->name; o++) {
        buf_addf(out, "complete -c muster -n '__fish_seen_subcommand_from %s' -l %s", cmd->name,
                 o->name);
        if (o->letter)
            buf_addf(out, " -s %c", o->letter);
        buf_addf(out, "%s%s -d '", o->type == OPT_FLAG ? "" : " -r",
                 is_format(o) ? " -f -a '(muster words formats 2>/dev/null)'" : "");
        plain(out, o->help ? o->help : "");
        buf_puts(out, "'\n");
    }
    if (cmd->subs)
        buf_addf(out, "complete -c muster -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
                 cmd->name, cmd->subs);
    else if (takes_jobs(cmd) || takes_nodes(cmd))
        buf_addf(out,
                 "complete -c muster -n '__fish_seen_subcommand_from %s%s' -f -a "
                 "'(muster words %s 2>/dev/null)'\n",
                 cmd->name, takes_tasks(cmd) ? "; and not __muster_job >/dev/null" : "",
                 takes_jobs(cmd) ? "jobs" : "nodes");
    if (takes_tasks(cmd))
        buf_addf(out,
                 "complete -c muster -n '__fish_seen_subcommand_from %s; and __muster_job "
                 ">/dev/null' -f -a '(muster words tasks (__muster_job) 2>/dev/null)'\n",
                 cmd->name);
}

static void fish(const struct cli *cli, struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_puts(out, "# fish completion of muster, written by \"muster completion fish\"\n"
                  "function __muster_job --description 'the first operand in front of the cursor'\n"
                  "    set -l words (commandline -opc)\n"
                  "    string match --invert -- '-*' $words[3..] | head -n 1 | string match '*'\n"
                  "end\n");
    for (size_t i = 0; i < n; i++)
        if (!all[i]->hidden)
            fish_verb(cli, all[i], out);
}

static const struct {
    const char *name;
    void (*write)(const struct cli *, struct buf *);
} shells[] = { { .name = "bash", .write = bash },
               { .name = "zsh", .write = zsh },
               { .name = "fish", .write = fish } };

bool manual_completion(const struct cli *cli, const char *shell, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (strcmp(shells[i].name, shell) != 0)
            continue;
        shells[i].write(cli, out);
        return true;
    }
    return false;
}

/* ---- the verbs ---- */

static const struct opt opts[] = { COMMON_OPTS, OPT_END };

static int run_completion(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(4u << 20);
    (void)o;
    if (cmd_operands(&cmd_completion, argc, 1, 1, err) < 0)
        return -1;
    if (!manual_completion(cli, argv[0], &out)) {
        err_set(err, ERR_INPUT, "no completion for \"%.60s\"", argv[0]);
        return err_hint(err, "bash, zsh or fish");
    }
    out_buf(&out);
    return EXIT_OK;
}

static const char *const completion_examples[] = {
    "source <(muster completion bash)",
    "for this shell",
    "source <(muster completion zsh)",
    "in ~/.zshrc, behind compinit",
    "muster completion fish > ~/.config/fish/completions/muster.fish",
    "",
    NULL,
};
const struct cmd cmd_completion = {
    .name = "completion",
    .summary = "a shell's completion of verbs and options",
    .operands = "bash|zsh|fish",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .subs = "bash zsh fish",
    .examples = completion_examples,
    .run = run_completion,
};

static int run_man(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(4u << 20);
    (void)o;
    if (cmd_operands(&cmd_man, argc, 0, 1, err) < 0)
        return -1;
    const struct cmd *verb = argc ? cmd_find(argv[0]) : NULL;
    if (argc && !verb) {
        err_set(err, ERR_INPUT, "\"%.60s\" is no verb", argv[0]);
        return err_remedy(err, REMEDY_HELP);
    }
    if (verb)
        manual_man_verb(cli, verb, &out);
    else
        manual_man(cli, &out);
    out_buf(&out);
    return EXIT_OK;
}

const struct cmd cmd_man = {
    .name = "man",
    .summary = "the manual page (roff), whole or of one verb",
    .operands = "[VERB]",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .hidden = true,
    .run = run_man,
};
