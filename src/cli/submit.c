/* A submission: the file's text goes to the server as it is, beside it where it comes from and what
 * is to differ. A code directory that the file names relative to itself becomes absolute here,
 * because only here is it known what it is relative to.
 *
 * Verbs: submit. */
#include "cli/submit.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/jobs.h"
#include "cli/names.h"
#include "cli/offline.h"
#include "cli/output.h"
#include "cli/python_choice.h"
#include "cli/script.h"
#include "job/job.h"
#include "text/json.h"
#include "text/remedies.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SUBMISSION_TYPE "application/vnd.muster.submission+json" /* also in api/jobs.c */

/* ---- the code directory ---- */

static int existing_dir(const char *dir, char *out, struct err *err)
{
    struct stat st;
    if (!realpath(dir, out) || stat(out, &st) != 0) {
        err_sys(err, "code directory %s", dir);
        if (errno == ENOENT || errno == ENOTDIR)
            err->code = ERR_INPUT;
        return -1;
    }
    return S_ISDIR(st.st_mode) ? 0 : err_set(err, ERR_INPUT, "code directory %s is a file", dir);
}

static bool is_relative(const char *dir)
{
    return dir && *dir && !strstr(dir, "://") && dir[0] != '/' && dir[0] != '$' &&
           strncmp(dir, "file:", 5) != 0;
}

/* The directory a relative code directory of the file means; "" when it names none or none that
 * exists (the server says so). */
static void code_beside(struct cli *cli, const struct submit_source *src,
                        const struct job_spec *job, char *out)
{
    struct err err;
    *out = '\0';
    if (!job || !is_relative(job->inputs.code.dir))
        return;
    const char *slash = src->file ? strrchr(src->file, '/') : NULL;
    const char *dir = arena_printf(cli->arena, "%.*s%s", slash ? (int)(slash - src->file + 1) : 0,
                                   src->file ? src->file : "", job->inputs.code.dir);
    if (existing_dir(dir, out, &err) < 0)
        *out = '\0';
}

static int add_code(struct cli *cli, const struct submit_opts *o, const struct submit_source *src,
                    const struct job_spec *job, struct buf *path, struct err *err)
{
    char dir[PATH_MAX] = "";
    if (o->code && existing_dir(o->code, dir, err) < 0)
        return -1;
    if (!o->code)
        code_beside(cli, src, job, dir);
    if (*dir)
        call_query(path, "code", dir);
    return 0;
}

/* ---- the request ---- */

static const char *shown_file(struct cli *cli, const char *file)
{
    char full[PATH_MAX];
    if (!file || strcmp(file, "-") == 0)
        return file;
    return realpath(file, full) ? arena_strdup(cli->arena, full) : file;
}

/* The job as it is read here, without its server; NULL when it cannot be. */
static const struct job_spec *read_here(struct cli *cli, const struct submit_opts *o,
                                        const struct submit_source *src)
{
    struct offline_request request = { .text = src->text, .len = src->len, .from = o->from };
    struct offline job;
    return src->text && offline_read(cli, &request, &job) == 0 ? job.result.job : NULL;
}

static int add_shell(struct cli *cli, const struct submit_opts *o, const struct submit_source *src,
                     const struct job_spec *job, struct buf *path, struct err *err)
{
    struct command_opts resources = o->command;
    struct python_choice python;
    struct words sets;
    struct job_opts_ask ask = { .opts = &o->job,
                                .of_file = src->command ? NULL : &resources,
                                .gpu_type = src->gpu_type,
                                .job = job,
                                .file = src->file };
    if (!src->command && job_opts_devices(cli->arena, &o->job, &resources, &ask.gpu_type, err) < 0)
        return -1;
    if (job_opts_sets(cli->arena, &ask, &sets, err) < 0 ||
        python_choose(cli, o->python, &python, err) < 0)
        return -1;
    for (size_t i = 0; i < sets.n; i++)
        call_query(path, "set", sets.at[i]);
    call_query(path, "python", python.path);
    if (python.path)
        call_query(path, "python_from", python.from);
    return 0;
}

/* What a batch script is called with, and its name where it says none: its file's. */
static void add_batch(struct cli *cli, const struct submit_opts *o, const struct submit_source *src,
                      const struct job_spec *job, struct buf *path)
{
    bool batch = job && job->conventions.n == 1 && strcmp(job->conventions.at[0], "sbatch") == 0;
    const char *slash = src->file ? strrchr(src->file, '/') : NULL;
    if (batch && !o->name && src->file && strcmp(job->name, "sbatch") == 0)
        call_query(path, "name", slash ? slash + 1 : src->file);
    if (o->args.n == 0)
        return;
    AUTO_BUF struct buf set = BUF_INIT(256 << 10);
    struct text_node *list = text_list(cli->arena, NULL, NULL);
    for (size_t i = 0; i < o->args.n; i++)
        text_str(cli->arena, list, NULL, o->args.at[i]);
    buf_puts(&set, "config.sbatch.args=");
    json_print(list, 0, &set);
    call_query(path, "set", buf_str(&set));
}

bool submit_batch(struct cli *cli, struct submit_opts *o, int argc, char **argv)
{
    int scripts = 0;
    if (argc == 0 || cmd_behind_dashes(cli, argv[0]) || !script_is_batch(argv[0]))
        return false;
    while (scripts < argc && script_is_batch(argv[scripts]))
        scripts++;
    if (scripts == argc)
        return true; /* several jobs */
    int first = strcmp(argv[1], "--") == 0 ? 2 : 1;
    o->args.at = ARENA_ARRAY(cli->arena, (size_t)argc, const char *);
    for (int i = first; i < argc; i++)
        o->args.at[o->args.n++] = argv[i];
    return true;
}

static int add_path(struct cli *cli, const struct submit_opts *o, const struct submit_source *src,
                    struct buf *path, struct err *err)
{
    char here[PATH_MAX];
    const struct job_spec *job = read_here(cli, o, src);
    call_path(path, src->route, NULL, NULL);
    call_query(path, "from", o->from);
    call_query(path, "name", o->name);
    call_query(path, "queue", o->queue);
    call_query(path, "like", o->like);
    if (src->shell && add_shell(cli, o, src, job, path, err) < 0)
        return -1;
    add_batch(cli, o, src, job, path);
    for (size_t i = 0; i < o->set.n; i++)
        call_query(path, "set", o->set.at[i]);
    if (o->wait)
        call_query(path, "wait", "1");
    if (o->apply)
        call_query(path, "apply", "1");
    if (o->replace)
        call_query(path, "replace", "1");
    if (src->text)
        call_query(path, "file", shown_file(cli, src->file));
    if (src->text && getcwd(here, sizeof here))
        call_query(path, "cwd", here);
    return add_code(cli, o, src, job, path, err);
}

/* Variables go in the body: their values may be secrets, and there may be many. */
static int add_env(struct cli *cli, const struct submit_opts *o, struct call *call, struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT((size_t)4 * TEXT_MAX_BYTES);
    struct pairs env;
    if (job_env_read(cli, &o->env, &env, err) < 0)
        return -1;
    if (env.n == 0)
        return 0;
    struct text_node *root = text_map(cli->arena, NULL, NULL);
    if (call->body)
        text_str(cli->arena, root, "text", arena_strndup(cli->arena, call->body, call->len));
    text_pairs(cli->arena, text_map(cli->arena, root, "env"), &env);
    json_print(root, 0, &body);
    if (body.overflow)
        return err_set(err, ERR_TOO_LARGE, "the job and its variables are too large");
    call->type = SUBMISSION_TYPE;
    call->sent = arena_strndup(cli->arena, buf_str(&body), body.len);
    call->sent_len = body.len;
    return 0;
}

int submit_call(struct cli *cli, const struct submit_opts *o, const struct submit_source *src,
                struct call *call, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(256 << 10);
    if (add_path(cli, o, src, &path, err) < 0)
        return -1;
    *call = (struct call){ .method = "POST",
                           .path = arena_strdup(cli->arena, buf_str(&path)),
                           .body = src->text,
                           .len = src->len,
                           .file = src->file };
    return add_env(cli, o, call, err);
}

static struct text_node *send(struct cli *cli, const struct submit_opts *o,
                              const struct submit_source *src, const char *key, struct err *err)
{
    struct call call;
    if (submit_call(cli, o, src, &call, err) < 0)
        return NULL;
    call.key = key;
    return call_send(cli, &call, err);
}

struct text_node *submit_file(struct cli *cli, const struct submit_opts *o, const char *file,
                              size_t nth, struct err *err)
{
    AUTO_FREE char *text = NULL;
    struct submit_source src = { .file = file, .shell = true };
    if (file && names_read_job_file(file, &text, &src.len, err) < 0)
        return NULL;
    src.text = text;
    return submit_read(cli, o, &src, nth, err);
}

struct text_node *submit_read(struct cli *cli, const struct submit_opts *o,
                              const struct submit_source *from, size_t nth, struct err *err)
{
    struct submit_source src = *from;
    const char *key = o->key && nth ? arena_printf(cli->arena, "%s#%zu", o->key, nth) : o->key;
    src.route = "/v1/jobs";
    return send(cli, o, &src, key, err);
}

struct text_node *submit_text(struct cli *cli, const struct submit_opts *o, const char *made_of,
                              const char *text, size_t len, struct err *err)
{
    struct submit_source src = { .route = "/v1/jobs", .text = text, .len = len };
    struct call call;
    if (submit_call(cli, o, &src, &call, err) < 0)
        return NULL;
    call.key = o->key;
    call.file = made_of; /* for what is said of it: it can't be submitted by that name */
    struct text_node *answer = call_send(cli, &call, err);
    cli->refused.file = NULL;
    return answer;
}

struct text_node *submit_command(struct cli *cli, const struct submit_opts *o, int argc,
                                 char **argv, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    struct submit_opts submit = *o;
    struct submit_source src = { .route = "/v1/jobs", .shell = true, .command = true };
    struct command command = {
        .opts = &submit.command, .name = o->name, .from = o->from, .argc = argc, .argv = argv
    };
    struct command_job job;
    if (job_opts_devices(cli->arena, &o->job, &submit.command, &src.gpu_type, err) < 0)
        return NULL;
    if (o->job.nodes)
        submit.command.replicas = o->job.nodes;
    if (!cli->dashes && script_is(argv[0]))
        command.argv = script_command(cli->arena, &command.argc, argv);
    if (command_job(cli, &command, &job, err) < 0)
        return NULL;
    for (size_t i = 0; i < job.said.n && !cli->quiet; i++)
        out_warning(job.said.at[i], "");
    submit.from = "native";
    json_print(job.tree, 2, &text);
    src.text = buf_str(&text);
    src.len = text.len;
    return send(cli, &submit, &src, o->key, err);
}

int submit_check(const struct submit_opts *o, int argc, char **argv, struct err *err)
{
    if (!o->detach || argc == 0 || strncmp(argv[0], "after", 5) != 0 || !strchr(argv[0], ':'))
        return 0;
    err_set(err, ERR_INPUT, "-d is --detach here and takes no value, \"%.80s\" follows it",
            argv[0]);
    return err_hint(err, "--dependency %.80s", argv[0]);
}

/* ---- showing ---- */

static void add_amounts(const struct text_node *s, struct buf *out)
{
    char text[FMT_MAX];
    uint64_t cpu = text_number(s, "cpu_milli"), gpu = text_number(s, "gpu_milli");
    if (cpu)
        buf_addf(out, ", %s cpu", fmt_milli(text, cpu));
    if (gpu)
        buf_addf(out, ", %s gpu", fmt_milli(text, gpu));
}

static void print_warnings(const struct cli *cli, const struct text_node *s)
{
    const struct text_node *list = text_get(s, "warnings");
    for (const struct text_node *n = list ? list->first : NULL; n; n = n->next) {
        AUTO_BUF struct buf lines = BUF_INIT(64 << 10);
        struct remedies remedies = { .n = 0 };
        const char *hint = remedies_read(cli->arena, n, &remedies);
        out_warning(n->kind == TEXT_STR ? n->str : text_word(n, "what"), hint);
        out_remedies(cli, &remedies, &lines);
        fputs(buf_str(&lines), stderr);
    }
}

void submit_print(struct cli *cli, const struct text_node *s)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    char roles[48], tasks[48], jobs[48];
    const char *title = answer_text(s, "title", answer_text(s, "from", NULL));
    uint64_t n_roles = text_number(s, "roles");
    buf_addf(&out, "%llu %s", (unsigned long long)text_number(s, "number"),
             jobs_name(cli->arena, s));
    if (title)
        buf_addf(&out, "  (%s)", title);
    if (answer_has(s, "members"))
        buf_addf(&out, "  %s", out_count(jobs, text_number(s, "members"), "job"));
    if (n_roles)
        buf_addf(&out, "%s%s, %s", answer_has(s, "members") ? ", " : "  ",
                 out_count(roles, n_roles, "role"),
                 out_count(tasks, text_number(s, "tasks"), "task"));
    add_amounts(s, &out);
    if (text_flag(s, "existing"))
        buf_puts(&out, "  (submitted before under this key)");
    buf_putc(&out, '\n');
    if (cli->quiet) {
        buf_clear(&out);
        buf_addf(&out, "%llu\n", (unsigned long long)text_number(s, "number"));
    }
    out_buf(&out);
    fflush(stdout);
    if (!cli->quiet)
        print_warnings(cli, s);
}

/* ---- the verb ---- */

static const struct opt opts[] = {
    SUBMIT_OPTS,
    RUN_OPTS,
    { .name = "like",
      .type = OPT_STR,
      .offset = offsetof(struct submit_opts, like),
      .arg = "JOB",
      .help = "that job's file again" },
    { .name = "replace",
      .type = OPT_FLAG,
      .offset = offsetof(struct submit_opts, replace),
      .help = "with --like: that job, which waits, is withdrawn" },
    { .name = "wait",
      .type = OPT_FLAG,
      .offset = offsetof(struct submit_opts, wait),
      .help = "queue it although no node is large enough yet" },
    COMMON_OPTS,
    OPT_END,
};

static int print_many(struct cli *cli, struct text_node *const *at, size_t n)
{
    if (!cli->json) {
        for (size_t i = 0; i < n; i++)
            submit_print(cli, at[i]);
        return EXIT_OK;
    }
    if (n == 1) {
        out_json(at[0]);
        return EXIT_OK;
    }
    struct text_node *root = text_map(cli->arena, NULL, NULL);
    struct text_node *list = text_list(cli->arena, root, "jobs");
    for (size_t i = 0; i < n; i++)
        text_copy(cli->arena, list, NULL, at[i]);
    out_json(root);
    return EXIT_OK;
}

static int check_like(const struct submit_opts *o, int argc, bool command, struct err *err)
{
    if (o->like && argc) {
        err_set(err, ERR_INPUT, "--like and a %s are two jobs", command ? "command" : "file");
        return err_hint(err, "give one of them");
    }
    if (o->replace && !o->like) {
        err_set(err, ERR_INPUT, "--replace does not say which job");
        return err_hint(err, "--like JOB --replace");
    }
    return 0;
}

/* A file after the other; what came before one that is refused has been submitted. */
static int submit_all(struct cli *cli, struct submit_opts *o, int argc, char **argv, bool command,
                      struct err *err)
{
    size_t n = argc && !command ? (size_t)argc : 1, done = 0;
    struct text_node **at = ARENA_ARRAY(cli->arena, n, struct text_node *);
    for (; done < n; done++) {
        at[done] = command ? submit_command(cli, o, argc, argv, err)
                           : submit_file(cli, o, argc ? argv[done] : NULL, done, err);
        if (!at[done])
            break;
    }
    if (done)
        print_many(cli, at, done);
    if (done == n)
        return EXIT_OK;
    bool named = n > 1 && strncmp(err->what, argv[done], strlen(argv[done])) == 0;
    return n > 1 && !named ? err_in(err, "%s", argv[done]) : -1;
}

static int run_submit(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    struct submit_opts submit = *(const struct submit_opts *)opts_, *o = &submit;
    bool batch = submit_batch(cli, o, argc, argv);
    bool command = argc && !batch && (cli->dashes || script_is(argv[0]));
    argc = batch && o->args.n ? 1 : argc;
    if (submit_check(o, argc, argv, err) < 0 || check_like(o, argc, command, err) < 0)
        return -1;
    if (!o->like && cmd_operands(&cmd_submit, argc, 1, INT_MAX, err) < 0)
        return -1;
    return submit_all(cli, o, argc, argv, command, err);
}

static const char *const examples[] = {
    "muster submit job.json",
    "queue a job; prints its number",
    "muster submit a.yaml b.yaml --queue vision",
    "",
    "python make_job.py | muster submit -",
    "a job from another program",
    "muster submit -n 4 -- python train.py",
    "four tasks of a command, no file at all",
    "muster submit --like 12 --set roles.worker.replicas=8",
    "job 12 again, larger",
    "muster submit --like 13 --replace --set priority=7",
    "job 13 anew, instead of the one that waits",
    "muster submit --like '12[3]'",
    "of array 12 the job with index 3 again",
    NULL,
};
const struct cmd cmd_submit = {
    .name = "submit",
    .summary = "queue jobs and return at once",
    .operands = "FILE... | SCRIPT [ARGS...] | -- COMMAND...",
    .opts = opts,
    .size = sizeof(struct submit_opts),
    .parse = OPT_STOP_AT_SCRIPT,
    .examples = examples,
    .run = run_submit,
};
