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
#include "cli/out.h"
#include "job/job.h"
#include "text/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
static void code_beside(struct cli *cli, const struct submit_opts *o,
                        const struct submit_source *src, char *out)
{
    struct offline_request request = { .text = src->text, .len = src->len, .from = o->from };
    struct offline job;
    struct err err;
    *out = '\0';
    if (offline_read(cli, &request, &job) < 0 || !is_relative(job.result.job->inputs.code.dir))
        return;
    const char *slash = src->file ? strrchr(src->file, '/') : NULL;
    const char *dir = arena_printf(cli->arena, "%.*s%s", slash ? (int)(slash - src->file + 1) : 0,
                                   src->file ? src->file : "", job.result.job->inputs.code.dir);
    if (existing_dir(dir, out, &err) < 0)
        *out = '\0';
}

static int add_code(struct cli *cli, const struct submit_opts *o, const struct submit_source *src,
                    struct buf *path, struct err *err)
{
    char dir[PATH_MAX] = "";
    if (o->code && existing_dir(o->code, dir, err) < 0)
        return -1;
    if (!o->code && src->text)
        code_beside(cli, o, src, dir);
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

int submit_path(struct cli *cli, const struct submit_opts *o, const struct submit_source *src,
                struct buf *path, struct err *err)
{
    char here[PATH_MAX];
    call_path(path, src->route, NULL, NULL);
    call_query(path, "from", o->from);
    call_query(path, "name", o->name);
    call_query(path, "queue", o->queue);
    call_query(path, "like", o->like);
    for (size_t i = 0; i < o->env.n; i++)
        call_query(path, "env", o->env.at[i]);
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
    return add_code(cli, o, src, path, err);
}

static struct text_node *send(struct cli *cli, const struct submit_opts *o,
                              const struct submit_source *src, const char *key, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(256 << 10);
    if (submit_path(cli, o, src, &path, err) < 0)
        return NULL;
    struct call call = { .method = "POST",
                         .path = buf_str(&path),
                         .body = src->text,
                         .len = src->len,
                         .key = key,
                         .file = src->file };
    return call_send(cli, &call, err);
}

struct text_node *submit_file(struct cli *cli, const struct submit_opts *o, const char *file,
                              size_t nth, struct err *err)
{
    AUTO_FREE char *text = NULL;
    struct submit_source src = { .file = file };
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

struct text_node *submit_text(struct cli *cli, const struct submit_opts *o, const char *text,
                              size_t len, struct err *err)
{
    struct submit_source src = { .route = "/v1/jobs", .text = text, .len = len };
    return send(cli, o, &src, o->key, err);
}

struct text_node *submit_command(struct cli *cli, const struct submit_opts *o,
                                 const struct command_opts *opts, int argc, char **argv,
                                 struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    struct command command = {
        .opts = opts, .name = o->name, .from = o->from, .argc = argc, .argv = argv
    };
    struct submit_opts submit = *o;
    struct command_job job;
    if (command_job(cli, &command, &job, err) < 0)
        return NULL;
    for (size_t i = 0; i < job.said.n && !cli->quiet; i++)
        out_warning(job.said.at[i], "");
    submit.from = "native";
    json_print(job.tree, 2, &text);
    return submit_text(cli, &submit, buf_str(&text), text.len, err);
}

/* ---- showing ---- */

static void add_amounts(const struct text_node *s, struct buf *out)
{
    char text[FMT_MAX];
    uint64_t cpu = answer_number(s, "cpu_milli", 0), gpu = answer_number(s, "gpu_milli", 0);
    if (cpu)
        buf_addf(out, ", %s cpu", fmt_milli(text, cpu));
    if (gpu)
        buf_addf(out, ", %s gpu", fmt_milli(text, gpu));
}

static void print_warnings(const struct text_node *s)
{
    const struct text_node *list = text_get(s, "warnings");
    for (const struct text_node *n = list ? list->first : NULL; n; n = n->next)
        out_warning(n->kind == TEXT_STR ? n->str : answer_text(n, "what", ""),
                    answer_text(n, "hint", ""));
}

void submit_print(struct cli *cli, const struct text_node *s)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    char roles[48], tasks[48], jobs[48];
    const char *title = answer_text(s, "title", answer_text(s, "from", NULL));
    uint64_t n_roles = answer_number(s, "roles", 0);
    buf_addf(&out, "%llu %s", (unsigned long long)answer_number(s, "number", 0),
             jobs_name(cli->arena, s));
    if (title)
        buf_addf(&out, "  (%s)", title);
    if (answer_has(s, "members"))
        buf_addf(&out, "  %s", out_count(jobs, answer_number(s, "members", 0), "job"));
    if (n_roles)
        buf_addf(&out, "%s%s, %s", answer_has(s, "members") ? ", " : "  ",
                 out_count(roles, n_roles, "role"),
                 out_count(tasks, answer_number(s, "tasks", 0), "task"));
    add_amounts(s, &out);
    if (answer_flag(s, "existing"))
        buf_puts(&out, "  (submitted before under this key)");
    buf_putc(&out, '\n');
    if (cli->quiet) {
        buf_clear(&out);
        buf_addf(&out, "%llu\n", (unsigned long long)answer_number(s, "number", 0));
    }
    out_buf(&out);
    fflush(stdout);
    if (!cli->quiet)
        print_warnings(s);
}

/* ---- the verb ---- */

struct submit_verb_opts {
    struct submit_opts submit;
    struct command_opts command;
};
static const struct opt opts[] = {
    COMMAND_OPTS(struct submit_verb_opts),
    SUBMIT_OPTS,
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

static int run_submit(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct submit_verb_opts *verb = opts_;
    const struct submit_opts *o = &verb->submit;
    bool command = cli->dashes && argc;
    if (o->like && argc) {
        err_set(err, ERR_INPUT, "--like and a %s are two jobs", command ? "command" : "file");
        return err_hint(err, "give one of them");
    }
    if (o->replace && !o->like) {
        err_set(err, ERR_INPUT, "--replace does not say which job");
        return err_hint(err, "--like JOB --replace");
    }
    if (!o->like && cmd_operands(&cmd_submit, argc, 1, INT_MAX, err) < 0)
        return -1;
    if (!command && command_opts_given(&verb->command)) {
        err_set(err, ERR_INPUT, "--replicas, --cpu, --memory, --gpu and --image are a command's");
        return err_hint(err, "muster submit --gpu 1 -- COMMAND; for a file: --set FIELD=V");
    }
    size_t n = argc && !command ? (size_t)argc : 1, done = 0;
    struct text_node **at = ARENA_ARRAY(cli->arena, n, struct text_node *);
    for (; done < n; done++) {
        at[done] = command ? submit_command(cli, o, &verb->command, argc, argv, err)
                           : submit_file(cli, o, argc ? argv[done] : NULL, done, err);
        if (!at[done])
            break;
    }
    if (done)
        print_many(cli, at, done);
    if (done == n)
        return EXIT_OK;
    return n > 1 ? err_in(err, "%s", argv[done]) : -1;
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
    .operands = "FILE... | -- COMMAND...",
    .opts = opts,
    .size = sizeof(struct submit_verb_opts),
    .examples = examples,
    .run = run_submit,
};
