/* muster check and muster convert: a job file is read here, no server needed. Shows problems, fixes
 * those that are certain, prints the environment of tasks, writes other formats. */
#include "cli/cmd.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/fix.h"
#include "cli/job_opts.h"
#include "cli/names.h"
#include "cli/offline.h"
#include "cli/output.h"
#include "cli/script.h"
#include "cli/state_dir.h"
#include "dialect/losses.h"
#include "dialect/task_env.h"
#include "dialect/variables.h"
#include "text/json.h"
#include "text/remedies.h"
#include "text/yaml.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct check_opts {
    struct common_opts common;
    const char *from, *name, *queue, *task, *to;
    struct opt_list env, set;
    bool fix, lossy, portable;
    struct command_opts command;
    struct job_opts job;
};
#define READING_OPTS                                                                               \
    { .name = "from",                                                                              \
      .type = OPT_STR,                                                                             \
      .offset = offsetof(struct check_opts, from),                                                 \
      .arg = "FORMAT",                                                                             \
      .help = "what the file is written in, instead of finding out" },                             \
        { .name = "set",                                                                           \
          .type = OPT_LIST,                                                                        \
          .offset = offsetof(struct check_opts, set),                                              \
          .arg = "FIELD=V",                                                                        \
          .help = "another value: roles.worker.replicas=2 (again for more)" },                     \
        { .name = "name",                                                                          \
          .type = OPT_STR,                                                                         \
          .offset = offsetof(struct check_opts, name),                                             \
          .arg = "NAME",                                                                           \
          .help = "of the job, instead of the file's" },                                           \
    {                                                                                              \
        .name = "queue", .type = OPT_STR, .offset = offsetof(struct check_opts, queue),            \
        .arg = "QUEUE", .help = "instead of the file's"                                            \
    }

static const struct opt check_rows[] = {
    { .name = "env",
      .letter = 'e',
      .type = OPT_STR,
      .offset = offsetof(struct check_opts, task),
      .arg = "ROLE/INDEX",
      .help = "print what this task would see: environment, ports, command" },
    { .name = "fix",
      .type = OPT_FLAG,
      .offset = offsetof(struct check_opts, fix),
      .help = "change what is certain, in the file" },
    READING_OPTS,
    COMMAND_OPTS(struct check_opts),
    JOB_OPTS(struct check_opts),
    COMMON_OPTS,
    OPT_END,
};
static const struct opt convert_rows[] = {
    { .name = "to",
      .type = OPT_STR,
      .offset = offsetof(struct check_opts, to),
      .arg = "FORMAT",
      .help = "native (the default), dlc, elasticjob, openpai-v1 ..." },
    { .name = "lossy",
      .type = OPT_FLAG,
      .offset = offsetof(struct check_opts, lossy),
      .help = "convert also when something of the job is lost" },
    { .name = "env",
      .letter = 'e',
      .type = OPT_LIST,
      .offset = offsetof(struct check_opts, env),
      .arg = "K=V",
      .help = "a variable of every task (again for more)" },
    READING_OPTS,
    COMMAND_OPTS(struct check_opts),
    JOB_OPTS(struct check_opts),
    COMMON_OPTS,
    OPT_END,
};

struct checked_file {
    const char *file;
    char *text;
    size_t len;
    struct offline job;
    bool good;
    const struct text_node *made; /* of a command: the job it makes */
};

static void read_with(struct cli *cli, const struct check_opts *o, const char *from,
                      const struct opt_list *sets, struct checked_file *c)
{
    struct offline_request request = { .text = c->text,
                                       .len = c->len,
                                       .from = from,
                                       .name = o->name,
                                       .queue = o->queue,
                                       .env = &o->env,
                                       .set = sets,
                                       .portable = o->portable,
                                       .shown = o->task != NULL };
    c->good = offline_read(cli, &request, &c->job) == 0;
}

/* Twice where options change the job: which roles it has is known after the first time. of_file:
 * options for its role; NULL: the text has them. */
static int read_text(struct cli *cli, const struct check_opts *o, const char *from,
                     const struct job_opts_ask *options, struct checked_file *c, struct err *err)
{
    struct job_opts_ask ask = *options;
    struct words sets = { .n = 0 };
    read_with(cli, o, from, &o->set, c);
    ask.job = c->good ? c->job.result.job : NULL;
    if (c->good && job_opts_sets(cli->arena, &ask, &sets, err) < 0)
        return -1;
    if (sets.n == 0)
        return 0;
    const char **all = ARENA_ARRAY(cli->arena, sets.n + o->set.n, const char *);
    memcpy(all, sets.at, sets.n * sizeof *all);
    if (o->set.n)
        memcpy(all + sets.n, o->set.at, o->set.n * sizeof *all);
    read_with(cli, o, from, &(struct opt_list){ .at = all, .n = sets.n + o->set.n }, c);
    return 0;
}

static int read_one(struct cli *cli, const struct check_opts *o, const char *file,
                    struct checked_file *c, struct err *err)
{
    struct command_opts resources = o->command;
    struct job_opts_ask ask = { .opts = &o->job, .of_file = &resources, .file = file };
    *c = (struct checked_file){ .file = strcmp(file, "-") == 0 ? "stdin" : file };
    if (job_opts_devices(cli->arena, &o->job, &resources, &ask.gpu_type, err) < 0)
        return -1;
    if (names_read_job_file(file, &c->text, &c->len, err) < 0)
        return -1;
    return read_text(cli, o, o->from, &ask, c, err);
}

static int read_command(struct cli *cli, const struct check_opts *o, int argc, char **argv,
                        struct checked_file *c, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    struct command_opts resources = o->command;
    struct job_opts_ask ask = { .opts = &o->job };
    struct command command = {
        .opts = &resources, .name = o->name, .from = o->from, .argc = argc, .argv = argv
    };
    struct command_job job;
    *c = (struct checked_file){ .file = "the command" };
    if (!cli->dashes) {
        c->file = argv[0];
        command.argv = script_command(cli->arena, &command.argc, argv);
    }
    if (job_opts_devices(cli->arena, &o->job, &resources, &ask.gpu_type, err) < 0)
        return -1;
    resources.replicas = o->job.nodes ? o->job.nodes : resources.replicas;
    if (command_job(cli, &command, &job, err) < 0)
        return -1;
    json_print(job.tree, 2, &text);
    c->len = text.len;
    c->text = buf_take(&text);
    if (read_text(cli, o, "native", &ask, c, err) < 0)
        return -1;
    for (size_t i = 0; i < job.said.n; i++)
        report_warn(&c->job.report, (struct place){ 0 }, "", "%s", job.said.at[i]);
    c->made = c->good ? job_encode(cli->arena, c->job.result.job) : job.tree;
    return 0;
}

/* ---- the report ---- */

static void print_tail(const struct checked_file *c, struct buf *out)
{
    const struct report *r = &c->job.report;
    const struct dialect *d = c->job.result.dialect;
    char errors[48], warnings[48];
    if (r->errors)
        buf_addf(out, "%s", out_count(errors, r->errors, "error"));
    if (r->errors && r->warnings)
        buf_puts(out, ", ");
    if (r->warnings)
        buf_addf(out, "%s", out_count(warnings, r->warnings, "warning"));
    buf_addf(out, " in %s", c->file);
    if (d && !c->made)
        buf_addf(out, " (read as %s; --from names another dialect)", d->title);
    buf_putc(out, '\n');
}

/* As a submission counts them: those of all jobs of an array. */
static uint32_t task_count(const struct job_spec *job)
{
    return job_task_count(job) * (job->array.count ? job->array.count : 1);
}

static void print_good(const struct checked_file *c, struct buf *out)
{
    const struct job_spec *job = c->job.result.job;
    char jobs[48], roles[48], tasks[48];
    buf_addf(out, "%s is fine: %s, ", c->file, job->name ? job->name : "without a name");
    if (job->array.count)
        buf_addf(out, "an array of %s, ", out_count(jobs, job->array.count, "job"));
    buf_addf(out, "%s, %s (%s)\n", out_count(roles, job->n_roles, "role"),
             out_count(tasks, task_count(job), "task"), c->job.result.dialect->title);
}

static void print_report(struct cli *cli, const struct checked_file *c)
{
    AUTO_BUF struct buf out = BUF_INIT(16u << 20);
    report_print(&c->job.report, c->file, c->made ? NULL : c->text, c->len, cli->color, &out);
    cli->refused.file = c->file;
    for (size_t i = 0; i < c->job.report.n; i++)
        if (c->job.report.at[i].remedies)
            out_remedies(cli, c->job.report.at[i].remedies, &out);
    if (c->job.report.n)
        print_tail(c, &out);
    if (c->good && !cli->quiet)
        print_good(c, &out);
    if (c->made && !cli->quiet)
        yaml_print(c->made, &out);
    out_buf(&out);
}

static void json_report(struct cli *cli, const struct checked_file *c, struct text_node *parent)
{
    struct arena *a = cli->arena;
    struct text_node *one = out_report(a, parent, c->file, &c->job.report);
    text_bool(a, one, "ok", c->good);
    if (c->job.result.dialect)
        text_str(a, one, "dialect", c->job.result.dialect->name);
    if (c->good) {
        text_int(a, one, "roles", (int64_t)c->job.result.job->n_roles);
        text_int(a, one, "tasks", task_count(c->job.result.job));
    }
    if (c->made)
        text_copy(a, one, "job", c->made);
}

/* ---- --fix ---- */

static void print_changes(const char *file, const char *lines)
{
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        printf("changed %s:%.*s\n", file, (int)n, lines);
    }
}

/* Rounds, because a fixed field may show what was hidden behind it. */
static int fix_file(struct cli *cli, const struct check_opts *o, const char *file,
                    struct checked_file *c, struct err *err)
{
    struct stat st;
    if (strcmp(file, "-") == 0) {
        err_set(err, ERR_INPUT, "--fix changes a file, stdin is none");
        return err_hint(err, "name the file");
    }
    if (stat(file, &st) != 0)
        return err_sys(err, "%s", file);
    for (int round = 0; round < 8; round++) {
        AUTO_BUF struct buf mended = BUF_INIT(2 * TEXT_MAX_BYTES);
        AUTO_BUF struct buf said = BUF_INIT(1 << 20);
        if (fix_apply(&c->job.report, c->text, c->len, &mended, &said) == 0)
            return 0;
        if (file_replace(file, mended.data, mended.len, st.st_mode & 07777, err) < 0)
            return -1;
        if (!cli->json && !cli->quiet)
            print_changes(file, buf_str(&said));
        free(c->text);
        if (read_one(cli, o, file, c, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- --env ---- */

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return strcmp(x->name, y->name);
}

struct task_environment { /* what one task would see */
    const struct job_spec *job;
    const struct role *role;
    struct job_place place;
    uint32_t flat;
    struct pairs env;
};

static bool place_somewhere(struct cli *cli, const struct checked_file *c,
                            const struct job_spec *job, struct job_place *place)
{
    *place =
        (struct job_place){ .id = 1, .number = 1, .generation = 1, .owner = c->job.site.owner };
    if (job->array.count > 0) {
        place->array = 1;
        place->array_index = job->array.first;
    }
    return cli->host->example(job, cli->arena, place);
}

static int find_task(struct cli *cli, const struct checked_file *c, const char *text,
                     struct task_environment *s, struct err *err)
{
    struct task_name name;
    uint32_t role;
    s->job = c->job.result.job;
    if (names_task(cli->arena, text, &name, err) < 0)
        return -1;
    s->role = job_role(s->job, name.role, &role);
    if (!s->role) {
        err_set(err, ERR_INPUT, "%s has no role \"%s\"", c->file, name.role);
        return err_hint(err, "%s/0", s->job->n_roles ? s->job->roles[0].name : "role");
    }
    if (name.index >= s->role->replicas) {
        err_set(err, ERR_INPUT, "%s has %u task%s, %s/%u is none of them", name.role,
                s->role->replicas, s->role->replicas == 1 ? "" : "s", name.role, name.index);
        return err_hint(err, "%s/0 to %s/%u", name.role, name.role, s->role->replicas - 1);
    }
    if (!place_somewhere(cli, c, s->job, &s->place))
        return err_set(err, ERR_CANNOT,
                       "no example can be made: the tasks' ports do not fit one machine");
    s->flat = job_task_flat(s->job, role, name.index);
    return 0;
}

static const char *ports_text(struct cli *cli, const struct placed_port *port)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    for (uint32_t i = 0; i < port->count; i++)
        buf_addf(&text, "%s%u", i ? "," : "", port->numbers[i]);
    return arena_strdup(cli->arena, buf_str(&text));
}

/* Where this user's server would be reached; NULL: another machine's. */
static const char *own_server(struct cli *cli)
{
    AUTO_FREE char *socket = cli->url || !cli->state_dir ? NULL : state_dir_socket(cli->state_dir);
    return socket ? arena_printf(cli->arena, "unix:%s", socket) : NULL;
}

/* Is it one whose value only a start makes? */
static bool comes_later(const struct task_environment *s, const struct variable *v)
{
    return v->of == VARIABLE_STARTED && !pairs_get(&s->role->env, v->name) &&
           (s->job->config || strcmp(v->name, "MUSTER_CONFIG") != 0);
}

static void env_json(struct cli *cli, const struct task_environment *s)
{
    struct arena *a = cli->arena;
    const struct task_place *task = &s->place.tasks[s->flat];
    struct text_node *root = text_map(a, NULL, NULL);
    text_str(a, root, "task", arena_printf(a, "%s/%u", s->role->name, task->index));
    struct text_node *env = text_map(a, root, "env");
    text_pairs(a, env, &s->env);
    struct text_node *later = text_list(a, root, "made_when_it_starts");
    for (const struct variable *v = variables; v->name; v++)
        if (comes_later(s, v))
            text_str(a, later, NULL, v->name);
    struct text_node *ports = text_map(a, root, "ports");
    for (uint32_t i = 0; i < task->n_ports; i++) {
        struct text_node *list = text_list(a, ports, task->ports[i].label);
        for (uint32_t k = 0; k < task->ports[i].count; k++)
            text_int(a, list, NULL, task->ports[i].numbers[k]);
    }
    struct text_node *argv = text_list(a, root, "argv");
    if (s->role->run) {
        text_str(a, argv, NULL, "bash");
        text_str(a, argv, NULL, "-c");
        text_str(a, argv, NULL, s->role->run);
    }
    for (size_t i = 0; !s->role->run && i < s->role->argv.n; i++)
        text_str(a, argv, NULL, s->role->argv.at[i]);
    out_json(root);
}

static void env_text(struct cli *cli, const struct task_environment *s, struct buf *out)
{
    const struct task_place *task = &s->place.tasks[s->flat];
    buf_addf(out, "# %s/%u of %s: addresses and ports are examples, the server chooses them\n",
             s->role->name, task->index, s->job->name ? s->job->name : "the job");
    for (size_t i = 0; i < s->env.n; i++)
        buf_addf(out, "%s=%s\n", s->env.at[i].name, s->env.at[i].value);
    for (const struct variable *v = variables; v->name; v++)
        if (comes_later(s, v))
            buf_addf(out, "# %s: made when it starts\n", v->name);
    for (uint32_t i = 0; i < task->n_ports; i++)
        buf_addf(out, "# port %s: %s (example)\n", task->ports[i].label,
                 ports_text(cli, &task->ports[i]));
    if (s->role->run)
        buf_addf(out, "# argv: bash -c '%s'\n", s->role->run);
    else
        buf_puts(out, "# argv:");
    for (size_t i = 0; !s->role->run && i < s->role->argv.n; i++)
        buf_addf(out, " %s", s->role->argv.at[i]);
    if (!s->role->run)
        buf_putc(out, '\n');
}

static int print_env(struct cli *cli, const struct checked_file *c, const char *text,
                     struct err *err)
{
    struct task_environment s = { .flat = 0 };
    AUTO_BUF struct buf out = BUF_INIT((size_t)256 << 20);
    if (find_task(cli, c, text, &s, err) < 0)
        return -1;
    struct dialect_task one = {
        .job = s.job, .place = &s.place, .flat = s.flat, .site = &c->job.site
    };
    const struct task_host host = { .dialects = cli->host->dialects, .server = own_server(cli) };
    dialect_env(cli->host->dialects, cli->arena, &one, &s.env);
    task_env(&host, cli->arena, &one, &s.env);
    if (s.env.n)
        qsort(s.env.at, s.env.n, sizeof *s.env.at, compare_pairs);
    if (cli->json) {
        env_json(cli, &s);
        return EXIT_OK;
    }
    env_text(cli, &s, &out);
    out_buf(&out);
    return EXIT_OK;
}

/* ---- check ---- */

static int check_read(struct cli *cli, const struct check_opts *o, struct checked_file *c,
                      struct text_node *list, struct err *err)
{
    int rc = 0;
    if (c->good && o->task)
        rc = print_env(cli, c, o->task, err);
    else if (cli->json)
        json_report(cli, c, list);
    else
        print_report(cli, c);
    if (rc < 0)
        return -1;
    return c->good ? EXIT_OK : EXIT_USAGE;
}

static int check_one(struct cli *cli, const struct check_opts *o, const char *file,
                     struct text_node *list, struct err *err)
{
    struct checked_file c;
    int rc = read_one(cli, o, file, &c, err);
    if (rc == 0 && o->fix)
        rc = fix_file(cli, o, file, &c, err);
    if (rc == 0)
        rc = check_read(cli, o, &c, list, err);
    free(c.text);
    return rc;
}

static int check_command(struct cli *cli, const struct check_opts *o, int argc, char **argv,
                         struct err *err)
{
    struct text_node *list = text_list(cli->arena, NULL, NULL);
    struct checked_file c;
    if (o->fix) {
        err_set(err, ERR_INPUT, "--fix changes a file, a command is none");
        return err_hint(err, "leave --fix out");
    }
    if (read_command(cli, o, argc, argv, &c, err) < 0)
        return -1;
    int rc = check_read(cli, o, &c, list, err);
    if (cli->json && list->count)
        out_json(list->first);
    free(c.text);
    return rc;
}

static int run_check(struct cli *cli, const void *opts, int argc, char **argv, struct err *err)
{
    const struct check_opts *o = opts;
    struct text_node *list = text_list(cli->arena, NULL, NULL);
    int status = EXIT_OK;
    if (argc && (cli->dashes || script_is(argv[0])))
        return check_command(cli, o, argc, argv, err);
    if (cmd_operands(&cmd_check, argc, 1, o->task ? 1 : INT_MAX, err) < 0)
        return -1;
    for (int i = 0; i < argc; i++) {
        int one = check_one(cli, o, argv[i], list, err);
        if (one < 0 && argc == 1)
            return -1;
        if (one < 0)
            out_error(cli, err);
        status = one != EXIT_OK ? EXIT_USAGE : status;
    }
    if (cli->json && list->count == 1)
        out_json(list->first);
    else if (cli->json && list->count)
        out_json(list);
    return status;
}

static const char *const check_examples[] = {
    "muster check job.json",
    "every error with its line and what to write instead",
    "muster check --fix job.json",
    "change what is certain",
    "muster check --env worker/1 job.json",
    "what that task would see",
    "muster check -- torchrun --nnodes=2 --nproc-per-node=8 train.py",
    "the job that a command makes",
    NULL,
};
const struct cmd cmd_check = {
    .name = "check",
    .summary = "read job files without a server, show every error",
    .operands = "FILE... | SCRIPT [ARGS...] | -- COMMAND...",
    .opts = check_rows,
    .size = sizeof(struct check_opts),
    .parse = OPT_STOP_AT_SCRIPT,
    .examples = check_examples,
    .run = run_check,
};

/* ---- convert ---- */

static const struct dialect *target(struct cli *cli, const char *name, struct err *err)
{
    const struct dialects *all = cli->host->dialects;
    const struct dialect *d = dialect_find(all, name);
    AUTO_BUF struct buf written = BUF_INIT(1024);
    if (d && d->write)
        return d;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i]->write)
            buf_addf(&written, "%s%s", written.len ? ", " : "", all->at[i]->name);
    if (d)
        err_set(err, ERR_CANNOT, "%s is only read, not written", d->title);
    else
        err_set(err, ERR_INPUT, "--to: \"%.60s\" is no format", name);
    err_hint(err, "--to with one of: %s", buf_str(&written));
    return NULL;
}

static void print_to_stderr(const struct checked_file *c, const struct report *report,
                            const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(64u << 20);
    report_print(report, c->file, text, c->len, out_color_err(), &out);
    fputs(buf_str(&out), stderr);
}

static const struct text_node *not_converted(const struct checked_file *c, struct err *err)
{
    err_set(err, ERR_INPUT, "%s was not converted", c->file);
    err_hint(err, "mend the errors above");
    return NULL;
}

/* What was written, as its reader has it: do the commands still find their variables? */
static void check_variables(struct cli *cli, const struct dialect *to, const struct checked_file *c,
                            const struct text_node *tree, struct report *said)
{
    const struct job_spec *job = c->job.result.job;
    struct report again;
    struct job_place places[2];
    report_init(&again, cli->arena);
    const struct job_spec *back = to->read(cli->arena, tree, &c->job.site, &again);
    if (!back || !place_somewhere(cli, c, job, &places[0]) ||
        !place_somewhere(cli, c, back, &places[1]))
        return;
    const struct dialect_task was = { .job = job, .place = &places[0], .site = &c->job.site };
    const struct dialect_task is = { .job = back, .place = &places[1], .site = &c->job.site };
    dialect_variables_lost(cli->host->dialects, cli->arena, &was, &is, said);
}

/* NULL with err, or without one when something would be lost: then that has been said. */
static const struct text_node *convert_job(struct cli *cli, const struct check_opts *o,
                                           const struct dialect *to, const struct checked_file *c,
                                           struct err *err)
{
    char losses[48];
    struct report said;
    report_init(&said, cli->arena);
    const struct text_node *tree =
        dialect_convert(cli->arena, to, c->job.result.job, &c->job.site, &said);
    if (tree)
        check_variables(cli, to, c, tree, &said);
    print_to_stderr(c, &said, NULL);
    if (!tree)
        return not_converted(c, err);
    if (!said.warnings || o->lossy)
        return tree;
    struct err lossy;
    err_set(&lossy, ERR_CANNOT, "%s was not converted: %s would be lost", c->file,
            out_count(losses, said.warnings, "field"));
    err_hint(&lossy, "--lossy converts it without them");
    out_error(cli, &lossy);
    return NULL;
}

static int run_convert(struct cli *cli, const void *opts, int argc, char **argv, struct err *err)
{
    struct check_opts portable = *(const struct check_opts *)opts, *o = &portable;
    struct checked_file c = { .text = NULL };
    const struct text_node *tree;
    AUTO_BUF struct buf out = BUF_INIT(64u << 20);
    const struct dialect *to = target(cli, o->to ? o->to : "native", err);
    o->portable = true;
    if (!to)
        return -1;
    if (argc && (cli->dashes || script_is(argv[0]))) {
        if (read_command(cli, o, argc, argv, &c, err) < 0)
            return -1;
    } else if (cmd_operands(&cmd_convert, argc, 1, 1, err) < 0 ||
               read_one(cli, o, argv[0], &c, err) < 0)
        return -1;
    print_to_stderr(&c, &c.job.report, c.text);
    tree = c.good ? convert_job(cli, o, to, &c, err) : not_converted(&c, err);
    free(c.text);
    if (!tree)
        return err->code == ERR_NONE ? EXIT_LOSSY : -1;
    if (to->script && !cli->json) {
        buf_puts(&out, tree->str);
        out_buf(&out);
        return EXIT_OK;
    }
    if (cli->json || !to->yaml) {
        out_json(tree);
        return EXIT_OK;
    }
    yaml_print(tree, &out);
    out_buf(&out);
    return EXIT_OK;
}

static const char *const convert_examples[] = {
    "muster convert --to native job.json > job.yaml",
    "the same job in muster's own words",
    "muster convert --to dlc job.yaml > job.json",
    "the same job as a PAI-DLC request; refused when that cannot say all of it",
    "muster convert --lossy --to dlc job.yaml > job.json",
    "without what is listed as lost",
    NULL,
};
const struct cmd cmd_convert = {
    .name = "convert",
    .summary = "write a job file in another format, without a server",
    .operands = "FILE | SCRIPT [ARGS...] | -- COMMAND...",
    .opts = convert_rows,
    .size = sizeof(struct check_opts),
    .parse = OPT_STOP_AT_SCRIPT,
    .examples = convert_examples,
    .run = run_convert,
};
