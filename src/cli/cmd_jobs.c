/* Verbs that do one thing to each job they are given: stop, restart, suspend, resume, rm; and
 * wait. */
#include "cli/jobs.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/catalogue.h"
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/waiting.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void jobs_path(struct buf *path, const char *job, const char *rest)
{
    call_path(path, "/v1/jobs/", job, rest);
}

const char *jobs_label(struct arena *arena, const struct text_node *view)
{
    unsigned long long number = text_number(view, "number");
    if (!answer_has(view, "array"))
        return arena_printf(arena, "%llu", number);
    return arena_printf(arena, "%llu[%llu]", (unsigned long long)text_number(view, "array"),
                        (unsigned long long)text_number(view, "index"));
}

const char *jobs_early_image(struct arena *arena, const struct text_node *entry)
{
    char have[FMT_MAX], all[FMT_MAX];
    const char *step = text_word(entry, "step"), *node = text_word(entry, "node");
    uint64_t total = text_number(entry, "total");
    if (strcmp(step, "ready") == 0)
        return *node ? arena_printf(arena, "on %s", node) : "on this machine";
    if (strcmp(step, "failed") == 0)
        return arena_printf(arena, "did not come%s%s while it waits: %s; fetched when it starts",
                            *node ? " to " : "", node, answer_text(entry, "problem", "?"));
    if (strcmp(step, "fetching") != 0)
        return NULL;
    fmt_bytes(all, total);
    return arena_printf(arena, "%s%s%s fetched%s%s while it waits",
                        fmt_bytes(have, text_number(entry, "bytes")), total ? " of " : "",
                        total ? all : "", *node ? " by " : "", node);
}

const char *jobs_name(struct arena *arena, const struct text_node *view)
{
    const char *name = text_word(view, "name");
    return answer_has(view, "indices")
               ? arena_printf(arena, "%s[%s]", name, text_word(view, "indices"))
               : name;
}

struct text_node *jobs_view(struct cli *cli, const char *job, const char *query, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    jobs_path(&path, job, query);
    return call_get(cli, buf_str(&path), err);
}

static void print_job_line(struct cli *cli, const struct text_node *view, const char *done)
{
    const char *number = jobs_label(cli->arena, view);
    const char *state = text_word(view, "state"), *name = text_word(view, "name");
    if (answer_has(view, "kind"))
        printf("%s %s  %s\n", text_word(view, "kind"), name,
               text_flag(view, "as_shipped") ? "as shipped again" : "removed");
    else if (cli->quiet)
        printf("%s\n", number);
    else if (done)
        printf("%s %s  %s\n", number, name, done);
    else
        printf("%s %s  %s%s%s\n", number, name, state, answer_has(view, "reason") ? ": " : "",
               text_word(view, "reason"));
    const struct text_node *away = cli->quiet || done ? NULL : text_get(view, "away");
    for (const struct text_node *n = away ? away->first : NULL; n; n = n->next)
        printf("  %s\n", out_away(cli->arena, n, state));
}

/* One document for one job, a list for several. */
static void print_views(struct cli *cli, struct text_node *const *views, size_t n)
{
    if (n == 1) {
        out_json(views[0]);
        return;
    }
    struct text_node *root = text_map(cli->arena, NULL, NULL),
                     *list = text_list(cli->arena, root, "jobs");
    for (size_t i = 0; i < n; i++)
        text_copy(cli->arena, list, NULL, views[i]);
    out_json(root);
}

struct order {
    const struct cmd *cmd;
    const char *method, *rest, *done; /* done: said instead of the state */
    bool names;                       /* names of the catalogue too */
};

/* Every job is tried; the first error is the one that counts, the others are said at once. */
static int give_order(struct cli *cli, const struct order *order, int argc, char **argv,
                      struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    struct text_node **views = ARENA_ARRAY(cli->arena, (size_t)argc, struct text_node *);
    size_t n = 0;
    bool failed = false;
    if (cmd_operands(order->cmd, argc, 1, INT_MAX, err) < 0)
        return -1;
    for (int i = 0; i < argc; i++) {
        struct err one;
        if (!order->names || !catalogue_path(argv[i], &path))
            jobs_path(&path, argv[i], order->rest);
        struct text_node *view =
            call_send(cli, &(struct call){ .method = order->method, .path = buf_str(&path) }, &one);
        if (view) {
            views[n++] = view;
            if (!cli->json)
                print_job_line(cli, view, order->done);
            continue;
        }
        if (failed)
            out_error(cli, err);
        *err = one;
        failed = true;
    }
    if (cli->json && n)
        print_views(cli, views, n);
    return failed ? -1 : EXIT_OK;
}

/* ---- stop restart suspend resume rm ---- */

struct stop_opts {
    struct common_opts common;
    bool now;
};
static const struct opt stop_rows[] = {
    { .name = "now",
      .type = OPT_FLAG,
      .offset = offsetof(struct stop_opts, now),
      .help = "SIGKILL at once, without the time to clean up" },
    COMMON_OPTS,
    OPT_END,
};
static const struct opt plain_rows[] = { COMMON_OPTS, OPT_END };

static int run_stop(struct cli *cli, const void *opts, int argc, char **argv, struct err *err)
{
    const struct stop_opts *o = opts;
    struct order order = { .cmd = &cmd_stop,
                           .method = "POST",
                           .rest = o->now ? "/stop?now=1" : "/stop" };
    return give_order(cli, &order, argc, argv, err);
}

/* The first operand is the job, the others are tasks of it. */
static int run_restart(struct cli *cli, const void *opts, int argc, char **argv, struct err *err)
{
    (void)opts;
    AUTO_BUF struct buf path = BUF_INIT(1 << 20);
    if (cmd_operands(&cmd_restart, argc, 1, INT_MAX, err) < 0)
        return -1;
    jobs_path(&path, argv[0], "/restart");
    for (int i = 1; i < argc; i++)
        call_query(&path, "task", argv[i]);
    struct text_node *view =
        call_send(cli, &(struct call){ .method = "POST", .path = buf_str(&path) }, err);
    if (!view)
        return -1;
    if (cli->json)
        out_json(view);
    else
        print_job_line(cli, view, NULL);
    return EXIT_OK;
}

static int run_suspend(struct cli *cli, const void *opts, int argc, char **argv, struct err *err)
{
    (void)opts;
    struct order order = { .cmd = &cmd_suspend, .method = "POST", .rest = "/suspend" };
    return give_order(cli, &order, argc, argv, err);
}

static int run_resume(struct cli *cli, const void *opts, int argc, char **argv, struct err *err)
{
    (void)opts;
    struct order order = { .cmd = &cmd_resume, .method = "POST", .rest = "/resume" };
    return give_order(cli, &order, argc, argv, err);
}

static int run_rm(struct cli *cli, const void *opts, int argc, char **argv, struct err *err)
{
    (void)opts;
    struct order order = { .cmd = &cmd_rm,
                           .method = "DELETE",
                           .rest = NULL,
                           .done = "removed with its output",
                           .names = true };
    return give_order(cli, &order, argc, argv, err);
}

static const char *const stop_examples[] = {
    "muster stop 12",
    "SIGTERM, the job's grace, SIGKILL; of an array all of its jobs",
    "muster stop '12[3]'",
    "one job of an array",
    "muster stop ddp --now",
    "",
    NULL,
};
const struct cmd cmd_stop = {
    .name = "stop",
    .summary = "end jobs",
    .operands = "JOB...",
    .opts = stop_rows,
    .size = sizeof(struct stop_opts),
    .examples = stop_examples,
    .run = run_stop,
};
static const char *const restart_examples[] = {
    "muster restart 12", "all of its tasks anew, in a new generation",
    "muster restart rl rollout/2", "this task alone, in its place; costs no retry", NULL
};
const struct cmd cmd_restart = {
    .name = "restart",
    .summary = "start a running job anew, or some of its tasks",
    .operands = "JOB [TASK...]",
    .opts = plain_rows,
    .size = sizeof(struct common_opts),
    .examples = restart_examples,
    .run = run_restart,
};
static const char *const suspend_examples[] = { "muster suspend 12",
                                                "ends its tasks, keeps it for later", NULL };
const struct cmd cmd_suspend = {
    .name = "suspend",
    .summary = "take jobs off their nodes and keep them",
    .operands = "JOB...",
    .opts = plain_rows,
    .size = sizeof(struct common_opts),
    .examples = suspend_examples,
    .run = run_suspend,
};
static const char *const resume_examples[] = { "muster resume 12", "back into its queue", NULL };
const struct cmd cmd_resume = {
    .name = "resume",
    .summary = "queue suspended jobs again",
    .operands = "JOB...",
    .opts = plain_rows,
    .size = sizeof(struct common_opts),
    .examples = resume_examples,
    .run = run_resume,
};
static const char *const rm_examples[] = { "muster rm 12",
                                           "its record and its output; results stay",
                                           "muster rm dataset/d-digits", "a name that was declared",
                                           NULL };
const struct cmd cmd_rm = {
    .name = "rm",
    .summary = "forget ended jobs",
    .operands = "JOB...",
    .opts = plain_rows,
    .size = sizeof(struct common_opts),
    .examples = rm_examples,
    .run = run_rm,
};

/* ---- wait ---- */

struct following {
    const char *job;
    uint64_t last;
    struct waiting line;
};

static void want_events(void *arg, struct buf *path, struct buf *body)
{
    struct following *w = arg;
    (void)body;
    jobs_path(path, w->job, "/events");
    call_query_number(path, "after", w->last);
    call_query(path, "follow", "1");
}

static bool on_event(void *arg, const struct text_node *event)
{
    struct following *w = arg;
    const char *state = answer_text(event, "state", NULL);
    w->last = answer_number(event, "seq", w->last);
    waiting_state(&w->line, answer_has(event, "task") ? NULL : state);
    return !answer_has(text_get(event, "body"), "hold_until_ms"); /* its result is known */
}

/* The number stays this job's when its name is taken by a newer one. */
static struct text_node *wait_for(struct cli *cli, const char *job, struct err *err)
{
    struct text_node *view = jobs_view(cli, job, NULL, err);
    struct following w = { .job =
                               view ? arena_printf(cli->arena, "%llu",
                                                   (unsigned long long)text_number(view, "number"))
                                    : "" };
    struct follow follow = { .request = want_events, .record = on_event, .arg = &w };
    if (!view)
        return NULL;
    w.line = (struct waiting){ .cli = cli, .number = text_number(view, "number") };
    bool known = out_final(text_word(view, "state")) || answer_has(view, "held_until");
    int rc = known ? 0 : follow_run(cli, &follow, err);
    waiting_end(&w.line);
    if (rc < 0)
        return NULL;
    return jobs_view(cli, w.job, NULL, err);
}

static int run_wait(struct cli *cli, const void *opts, int argc, char **argv, struct err *err)
{
    struct text_node **views = ARENA_ARRAY(cli->arena, (size_t)argc, struct text_node *);
    int status = EXIT_OK;
    (void)opts;
    if (cmd_operands(&cmd_wait, argc, 1, INT_MAX, err) < 0)
        return -1;
    for (int i = 0; i < argc; i++) {
        views[i] = wait_for(cli, argv[i], err);
        if (!views[i])
            return -1;
        int one = out_result_status(views[i]);
        status = status == EXIT_OK || one == EXIT_JOB_FAILED ? one : status;
        if (!cli->json)
            print_job_line(cli, views[i], NULL);
    }
    if (cli->json)
        print_views(cli, views, (size_t)argc);
    return status;
}

static const char *const wait_examples[] = {
    "muster wait 12",
    "ends with the job's result: 0 succeeded, 1 failed, 3 stopped",
    "muster wait $(muster submit -q a.json b.json)",
    "",
    NULL,
};
const struct cmd cmd_wait = {
    .name = "wait",
    .summary = "return when jobs have ended, with their result",
    .operands = "JOB...",
    .opts = plain_rows,
    .size = sizeof(struct common_opts),
    .examples = wait_examples,
    .run = run_wait,
};
