/* From the arguments of `dlc` to a verb: which one, its flags (long, with underscores, `--k v` or
 * `--k=v`), help. Flags that are no verb's own are those of a parameter file, so the dialect knows
 * them. */
#include "cli/dlc/face.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/call.h"
#include "cli/dlc/config.h"
#include "cli/dlc/get.h"
#include "cli/dlc/jobs.h"
#include "cli/dlc/submit.h"
#include "cli/output.h"
#include "cli/state_dir.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FLAGS_MAX 128 /* that one verb knows */

#define LIST_FLAGS                                                                                 \
    "workspace_id display_name display_name_regex job_type status resource_id start_time "         \
    "end_time page_num page_size show_detail events events_only max_events_num"

static int run_help(struct dlc_call *, struct err *);
static int run_version(struct dlc_call *, struct err *);
static int run_completion(struct dlc_call *, struct err *);

#define VERB(verb_, noun_, operands_, flags_, run_, summary_)                                      \
    {                                                                                              \
        .verb = (verb_), .noun = (noun_), .operands = (operands_), .flags = (flags_),              \
        .run = (run_), .summary = (summary_)                                                       \
    }
struct dlc_verb {
    const char *verb, *noun; /* "get", "job"; noun NULL: none */
    const char *operands, *summary;
    const char *flags; /* "display_name page_num ..."; NULL: those of a parameter file */
    int (*run)(struct dlc_call *, struct err *);
};
static const struct dlc_verb verbs[] = {
    VERB("submit", NULL, "tfjob|pytorchjob|mpijob|... [--job_file FILE] [--name ...]", NULL,
         dlc_submit_run, "submit a job"),
    VERB("create", "job", "--kind PyTorchJob [--name ...]", NULL, dlc_create_run, "the same"),
    VERB("get", "job", "[ID]", LIST_FLAGS, dlc_get_job_run, "one job as JSON, or a table of jobs"),
    VERB("get", "pod", "JOB POD", "max_events_num", dlc_get_pod_run, "a pod and its events"),
    VERB("get", "specs", "", "", dlc_get_specs_run, "instance types"),
    VERB("get", "quota", "", "workspace_id", dlc_get_quota_run, "what the nodes have and use"),
    VERB("logs", NULL, "JOB POD", "max_events_num start_time end_time", dlc_logs_run,
         "what a pod wrote"),
    VERB("stop", "job", "ID", "force quiet workspace_id", dlc_stop_run, "end a job"),
    VERB("delete", "job", "ID", "force quiet workspace_id", dlc_delete_run, "forget an ended job"),
    VERB("config", NULL, "[--endpoint ...]", "username password", dlc_config_run,
         "write ~/.dlc/config"),
    VERB("completion", NULL, "bash|zsh|fish|powershell", "", run_completion, "for a shell"),
    VERB("version", NULL, "", "", run_version, "of this program"),
    VERB("help", NULL, "[VERB]", "", run_help, "this text"),
};

/* ---- flags ---- */

static const struct {
    char letter;
    const char *name;
} letters[] = {
    { 'a', "access_id" }, { 'k', "access_key" }, { 'r', "region" },       { 'e', "endpoint" },
    { 'c', "config" },    { 'n', "name" },       { 'w', "workspace_id" }, { 'f', "force" },
    { 'h', "help" },      { 'I', "insecure" },
};
static const char *const switches[] = {
    "force",
    "quiet",
    "help",
    "insecure",
    "interactive",
    "show_detail",
    "events",
    "events_only",
    "chief",
    "aimaster_enable",
    "enable_preemptible_job",
    "enable_priority_preemption",
};

static bool is_switch(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(switches); i++)
        if (strcmp(switches[i], name) == 0)
            return true;
    return false;
}

static bool says_bool(const char *text)
{
    return text && (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0);
}

static void put_flag(struct dlc_call *c, const char *name, const char *value)
{
    struct text_node *node = text_get(c->flags, name);
    if (node)
        node->str = value;
    else
        text_str(c->cli->arena, c->flags, name, value);
}

/* *at is the argument; moved to the last one it used. */
static int take_flag(struct dlc_call *c, int argc, char **argv, int *at, struct err *err)
{
    const char *arg = argv[*at], *name = arg + 2, *eq = strchr(arg, '=');
    struct arena *arena = c->cli->arena;
    if (arg[1] != '-') {
        name = NULL;
        for (size_t i = 0; i < ARRAY_LEN(letters); i++)
            if (letters[i].letter == arg[1] && (arg[2] == '\0' || eq == arg + 2))
                name = letters[i].name;
        if (!name)
            return err_set(err, ERR_INPUT, "unknown flag %.60s", arg);
    } else if (eq) {
        name = arena_strndup(arena, name, (size_t)(eq - name));
    }
    const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    if (eq) {
        put_flag(c, name, eq + 1);
    } else if (is_switch(name)) {
        put_flag(c, name, says_bool(next) ? next : "true");
        *at += says_bool(next);
    } else if (!next) {
        return err_set(err, ERR_INPUT, "--%.60s needs a value", name);
    } else {
        put_flag(c, name, next);
        (*at)++;
    }
    return 0;
}

static int take_arguments(struct dlc_call *c, int argc, char **argv, struct err *err)
{
    bool over = false;
    c->argv = ARENA_ARRAY(c->cli->arena, (size_t)argc + 1, char *);
    for (int i = 0; i < argc; i++) {
        if (!over && strcmp(argv[i], "--") == 0)
            over = true;
        else if (over || argv[i][0] != '-' || argv[i][1] == '\0')
            c->argv[c->argc++] = argv[i];
        else if (take_flag(c, argc, argv, &i, err) < 0)
            return -1;
    }
    return 0;
}

/* Flags of a verb that has a list of them; the others' are checked by the dialect. */
static int check_flags(const struct dlc_call *c, const struct dlc_verb *verb, struct err *err)
{
    const char *names[FLAGS_MAX] = { "help", "insecure" };
    size_t n = 2;
    if (!verb->flags)
        return 0;
    for (const char *at = verb->flags; *(at += strspn(at, " ")) && n < FLAGS_MAX;) {
        size_t len = strcspn(at, " ");
        names[n++] = arena_strndup(c->cli->arena, at, len);
        at += len;
    }
    for (const struct text_node *flag = c->flags->first; flag; flag = flag->next) {
        bool known = dlc_config_flag(flag->key);
        for (size_t i = 0; i < n && !known; i++)
            known = strcmp(names[i], flag->key) == 0;
        if (known)
            continue;
        const char *near = scan_nearest(flag->key, names, n);
        err_set(err, ERR_INPUT, "unknown flag --%.60s", flag->key);
        return near ? err_hint(err, "--%s?", near) : err_hint(err, "dlc help %s", verb->verb);
    }
    return 0;
}

/* ---- which verb ---- */

static const struct dlc_verb *find_verb(struct dlc_call *c)
{
    const char *word = c->argc ? c->argv[0] : "help", *noun = c->argc > 1 ? c->argv[1] : "";
    const struct dlc_verb *only = NULL;
    size_t same = 0;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        const struct dlc_verb *v = &verbs[i];
        if (strcmp(v->verb, word) != 0)
            continue;
        if (v->noun &&
            (strcmp(v->noun, noun) == 0 || (strncmp(v->noun, noun, strlen(v->noun)) == 0 &&
                                            strcmp(noun + strlen(v->noun), "s") == 0))) {
            c->argc -= 2;
            c->argv += 2;
            return v;
        }
        only = v;
        same++;
    }
    /* `dlc stop ID` means `dlc stop job ID`; `dlc get` alone says nothing. */
    if (same != 1)
        return NULL;
    if (c->argc > 0) {
        c->argc--;
        c->argv++;
    }
    return only;
}

static int unknown_verb(const struct dlc_call *c, struct err *err)
{
    const char *names[ARRAY_LEN(verbs)], *word = c->argv[0];
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        names[i] = verbs[i].verb;
    if (strcmp(word, "get") == 0) {
        err_set(err, ERR_INPUT, "dlc get needs what to get%s%.60s", c->argc > 1 ? ", not " : "",
                c->argc > 1 ? c->argv[1] : "");
        return err_hint(err, "dlc get job|pod|specs|quota");
    }
    const char *near = scan_nearest(word, names, ARRAY_LEN(verbs));
    err_set(err, ERR_INPUT, "unknown command \"%.60s\"", word);
    return near ? err_hint(err, "dlc %s?", near) : err_hint(err, "dlc help lists them");
}

/* ---- help, version, completion ---- */

static void show(const struct dlc_verb *v)
{
    char head[160];
    snprintf(head, sizeof head, "dlc %s%s%s %s", v->verb, v->noun ? " " : "",
             v->noun ? v->noun : "", v->operands);
    printf("  %-66s  %s\n", head, v->summary);
}

static int run_help(struct dlc_call *c, struct err *err)
{
    const char *about = c->argc ? c->argv[0] : NULL;
    (void)err;
    puts("dlc: jobs of PAI-DLC, run by muster\n");
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (about && strcmp(verbs[i].verb, about) != 0)
            continue;
        show(&verbs[i]);
        if (about && verbs[i].flags && *verbs[i].flags)
            printf("      flags: --%s\n", verbs[i].flags);
        else if (about && !verbs[i].flags)
            puts("      flags: the keys of a parameter file (doc/dialect-dlc.md), --job_file,\n"
                 "      --interactive, --exit_code_on_stopped");
    }
    puts(
        "\nFlags of every command: -e --endpoint HOST:PORT of a muster server, -k --access_key its token,\n"
        "-a --access_id, -r --region, --protocol, -c --config FILE (else ~/.dlc/config).\n"
        "Without an endpoint: the muster server of this user.");
    return EXIT_OK;
}

static int run_version(struct dlc_call *c, struct err *err)
{
    (void)err;
    printf("dlc of muster %s\n", c->cli->host->version);
    return EXIT_OK;
}

static const struct {
    const char *shell, *text;
} completions[] = {
    { "bash",
      "_dlc() {\n"
      "    local words=\"submit create get logs stop delete config completion version help\"\n"
      "    case \"${COMP_WORDS[1]}\" in\n"
      "    submit) words=\"tfjob pytorchjob mpijob xgboostjob oneflowjob elasticbatchjob rayjob slurmjob\" ;;\n"
      "    get) words=\"job pod specs quota\" ;;\n"
      "    create|stop|delete) words=job ;;\n"
      "    completion) words=\"bash zsh fish powershell\" ;;\n"
      "    esac\n"
      "    [ \"$COMP_CWORD\" -le 2 ] && COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
      "}\ncomplete -o default -F _dlc dlc\n" },
    { "zsh",
      "#compdef dlc\n"
      "_dlc() {\n"
      "    if (( CURRENT == 2 )); then compadd submit create get logs stop delete config completion version help\n"
      "    elif [[ $words[2] == submit ]]; then compadd tfjob pytorchjob mpijob xgboostjob oneflowjob elasticbatchjob rayjob slurmjob\n"
      "    elif [[ $words[2] == get ]]; then compadd job pod specs quota\n"
      "    else _files; fi\n"
      "}\nif [[ $funcstack[1] = _dlc ]]; then _dlc \"$@\"; else compdef _dlc dlc; fi\n" },
    { "fish",
      "complete -c dlc -n __fish_use_subcommand -f -a 'submit create get logs stop delete config completion version help'\n"
      "complete -c dlc -n '__fish_seen_subcommand_from submit' -a 'tfjob pytorchjob mpijob xgboostjob oneflowjob elasticbatchjob rayjob slurmjob'\n"
      "complete -c dlc -n '__fish_seen_subcommand_from get' -f -a 'job pod specs quota'\n" },
    { "powershell",
      "Register-ArgumentCompleter -Native -CommandName dlc -ScriptBlock {\n"
      "    param($word)\n"
      "    'submit','create','get','logs','stop','delete','config','completion','version','help' |\n"
      "        Where-Object { $_ -like \"$word*\" }\n"
      "}\n" },
};

static int run_completion(struct dlc_call *c, struct err *err)
{
    for (size_t i = 0; c->argc == 1 && i < ARRAY_LEN(completions); i++)
        if (strcmp(completions[i].shell, c->argv[0]) == 0) {
            fputs(completions[i].text, stdout);
            return EXIT_OK;
        }
    err_set(err, ERR_INPUT, "dlc completion needs the name of a shell");
    return err_hint(err, "bash, zsh, fish or powershell");
}

/* ---- the entry ---- */

static int run(struct dlc_call *c, int argc, char **argv, struct err *err)
{
    AUTO_FREE char *dir = state_dir_find(NULL, err);
    if (!dir || take_arguments(c, argc, argv, err) < 0)
        return -1;
    c->cli->state_dir = arena_strdup(c->cli->arena, dir);
    const bool alone = c->argc == 0; /* dlc, dlc --help */
    const struct dlc_verb *verb = find_verb(c);
    if (!verb)
        return unknown_verb(c, err);
    if (dlc_flag_on(c, "help")) {
        c->argc = alone ? 0 : 1;
        c->argv = (char *[]){ (char *)(uintptr_t)verb->verb };
        return run_help(c, err);
    }
    if (check_flags(c, verb, err) < 0 || dlc_config_read(c, err) < 0)
        return -1;
    return verb->run(c, err);
}

int dlc_face_main(const struct cli_host *host, int argc, char **argv)
{
    struct cli cli = { .host = host, .arena = arena_create(), .tty = isatty(STDOUT_FILENO) == 1 };
    cli.refused = (struct refused){ .program = "muster" };
    struct dlc_call c = { .cli = &cli, .flags = text_map(cli.arena, NULL, NULL) };
    struct err err = { .code = ERR_NONE };
    setlocale(LC_CTYPE, "");
    out_guard();
    c.flags->pairs = true;
    int rc = run(&c, argc, argv, &err);
    if (rc >= 0 && (fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
        rc = err_sys(&err, "standard output");
    if (rc < 0) {
        out_error(&cli, &err);
        rc = err_exit_status(err.code);
    }
    call_drop(&cli);
    arena_destroy(cli.arena);
    return rc;
}
