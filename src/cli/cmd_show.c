/* muster show: one job: state, why, its life, its tasks with node, attempts, ends and last lines,
 * and what their devices do. One request; everything else is how it is printed. */
#include "cli/jobs.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/device_text.h"
#include "cli/output.h"
#include "cli/table.h"
#include "http/client.h"
#include "text/yaml.h"

#include <stdio.h>
#include <string.h>

#define TASKS_SHOWN 100
#define TAIL_LINES  3

struct show_opts {
    struct common_opts common;
    bool spec, origin, all;
};
static const struct opt opts[] = {
    { .name = "spec",
      .type = OPT_FLAG,
      .offset = offsetof(struct show_opts, spec),
      .help = "the job in muster's own words (YAML)" },
    { .name = "origin",
      .type = OPT_FLAG,
      .offset = offsetof(struct show_opts, origin),
      .help = "the text as it was submitted (secrets masked for others)" },
    { .name = "all",
      .letter = 'a',
      .type = OPT_FLAG,
      .offset = offsetof(struct show_opts, all),
      .help = "every task and every attempt" },
    COMMON_OPTS,
    OPT_END,
};

/* ---- head ---- */

static void line(struct buf *out, const char *key, const char *value)
{
    if (value && *value)
        buf_addf(out, "%-10s %s\n", key, value);
}

static void time_line(struct buf *out, const char *key, const struct text_node *job,
                      const char *field)
{
    char text[FMT_MAX];
    uint64_t at = answer_time(job, field);
    if (at)
        line(out, key, fmt_time_local(text, at));
}

static void put_state(struct cli *cli, const struct text_node *job, struct buf *out)
{
    const char *state = answer_text(job, "state", "?"),
               *sgr = cli->color ? out_state_color(state) : NULL;
    const char *word = answer_text(job, "word", NULL), *outcome = answer_text(job, "outcome", NULL);
    buf_addf(out, "%-10s %s%s%s%s", "state", sgr ? "\033[" : "", sgr ? sgr : "", sgr ? "m" : "",
             state);
    buf_puts(out, sgr ? "\033[0m" : "");
    if (outcome && !out_final(state))
        buf_addf(out, ", then %s", outcome);
    if (word && strcasecmp(word, state) != 0)
        buf_addf(out, "  (%s)", word);
    buf_putc(out, '\n');
    line(out, "why", answer_text(job, "reason", NULL));
}

/* Of an elastic job that runs without them. */
static unsigned long long tasks_to_come(const struct text_node *job)
{
    const struct text_node *list = text_get(job, "task_list");
    unsigned long long n = 0;
    if (strcmp(text_word(job, "state"), "running") != 0)
        return 0;
    for (const struct text_node *task = list ? list->first : NULL; task; task = task->next)
        n += strcmp(text_word(task, "state"), "waiting") == 0;
    return n;
}

static void put_size(struct cli *cli, const struct text_node *job, struct buf *out)
{
    char gpu[FMT_MAX], tasks[48];
    unsigned long long running = text_number(job, "tasks_running"), more = tasks_to_come(job);
    const char *text = out_count(tasks, text_number(job, "tasks"), "task");
    if (running)
        text = arena_printf(cli->arena, "%s, %llu running", text, running);
    if (more)
        text = arena_printf(cli->arena, "%s, %llu %s when there is room", text, more,
                            more == 1 ? "joins" : "join");
    if (text_number(job, "gpu_milli"))
        text = arena_printf(cli->arena, "%s, %s gpu", text,
                            fmt_milli(gpu, text_number(job, "gpu_milli")));
    if (text_number(job, "restarts"))
        text = arena_printf(cli->arena, "%s, restarted %llu times", text,
                            (unsigned long long)text_number(job, "restarts"));
    line(out, "size", text);
}

static void put_array(struct cli *cli, const struct text_node *job, struct buf *out)
{
    uint64_t members = text_number(job, "members"), most = text_number(job, "at_once");
    unsigned long long number = text_number(job, "number");
    char jobs[48];
    if (!members)
        return;
    const char *text = out_count(jobs, members, "job");
    if (most)
        text = arena_printf(cli->arena, "%s, %llu at a time", text, (unsigned long long)most);
    line(out, "array", text);
    const char *array = arena_printf(cli->arena, "%llu", number);
    line(out, "its jobs", out_command(cli, REMEDY_LIST_ARRAY, array));
    if (answer_has(text_get(job, "member_states"), "failed"))
        line(out, "failed", out_command(cli, REMEDY_LIST_STATE, array));
}

/* The first image that it names, and whether its tasks run in it. */
static void put_image(struct cli *cli, const struct text_node *job, struct buf *out)
{
    const struct text_node *spec = text_get(job, "spec"), *pinned = text_get(job, "images");
    const char *image = spec ? answer_text(spec, "image", NULL) : NULL;
    const struct text_node *roles = spec ? text_get(spec, "roles") : NULL;
    for (const struct text_node *one = roles ? roles->first : NULL; one && !image; one = one->next)
        image = answer_text(one, "image", NULL);
    const char *before = spec ? answer_text(spec, "runtime", "host") : "host";
    const char *runtime = answer_text(job, "runtime", before);
    bool used = image && strcmp(runtime, "host") != 0;
    const char *digest = image && pinned ? answer_text(pinned, image, NULL) : NULL;
    if (image)
        line(out, "image",
             arena_printf(cli->arena, "%s, %s%s%s%s", image, digest ? digest : "",
                          digest ? ", " : "", used ? "run by " : "not used: run on the host",
                          used ? runtime : ""));
}

/* Of those that come while it waits. */
static void put_early_images(struct cli *cli, const struct text_node *job, struct buf *out)
{
    const struct text_node *list = text_get(job, "early_images");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *how = jobs_early_image(cli->arena, one);
        if (how)
            line(out, "", arena_printf(cli->arena, "%s: %s", answer_text(one, "image", "?"), how));
    }
}

/* What was asked for, as far as lists do not show it. */
static void put_asked(struct cli *cli, const struct text_node *job, struct buf *out)
{
    const struct text_node *spec = text_get(job, "spec");
    const struct text_node *labels = spec ? text_get(spec, "labels") : NULL;
    const struct text_node *limits = spec ? text_get(spec, "limits") : NULL;
    const char *tags = NULL;
    for (const struct text_node *n = labels ? labels->first : NULL; n; n = n->next)
        tags = arena_printf(cli->arena, "%s%s%s=%s", tags ? tags : "", tags ? ", " : "", n->key,
                            n->str ? n->str : "");
    line(out, "tags", tags);
    put_image(cli, job, out);
    put_early_images(cli, job, out);
    line(out, "limit", limits ? answer_text(limits, "run_time", NULL) : NULL);
}

static void put_head(struct cli *cli, const struct text_node *job, struct buf *out)
{
    buf_addf(out, "%s %s", jobs_label(cli->arena, job), jobs_name(cli->arena, job));
    buf_addf(out, "  (%s)  of %s in %s\n",
             answer_text(job, "title", answer_text(job, "dialect", "?")),
             answer_text(job, "owner", "?"), answer_text(job, "queue", "default"));
    put_state(cli, job, out);
    if (text_number(job, "parent"))
        line(out, "parent",
             arena_printf(cli->arena, "job %llu", (unsigned long long)text_number(job, "parent")));
    put_array(cli, job, out);
    put_size(cli, job, out);
    put_asked(cli, job, out);
    line(out, "id", answer_text(job, "id", NULL));
    const struct text_node *away = text_get(job, "away");
    for (const struct text_node *n = away ? away->first : NULL; n; n = n->next)
        line(out, "machine", out_away(cli->arena, n, text_word(job, "state")));
    time_line(out, "submitted", job, "submitted");
    time_line(out, "not before", job, "not_before");
    time_line(out, "starts by", job, "expected");
    time_line(out, "promised", job, "promised");
    time_line(out, "started", job, "started");
    time_line(out, "ended", job, "ended");
    line(out, "file", answer_text(job, "file", NULL));
    line(out, "work dir", answer_text(job, "work_dir", NULL));
    line(out, "python", answer_text(job, "python", NULL));
    line(out, "code", answer_text(job, "code_dir", NULL));
    line(out, "output", answer_text(job, "output_dir", answer_text(job, "output", NULL)));
    const struct text_node *warnings = text_get(job, "warnings"),
                           *differs = text_get(job, "differs");
    for (const struct text_node *n = differs ? differs->first : NULL; n; n = n->next)
        line(out, "differs", n->str);
    for (const struct text_node *n = warnings ? warnings->first : NULL; n; n = n->next)
        line(out, "warning", n->str ? n->str : answer_text(n, "what", NULL));
}

/* ---- life ---- */

static void put_timeline(const struct text_node *job, struct buf *out)
{
    const struct text_node *events = text_get(job, "timeline");
    uint64_t start = answer_time(job, "submitted");
    if (!events || !events->count)
        return;
    buf_puts(out, "\n");
    for (const struct text_node *e = events->first; e; e = e->next) {
        uint64_t at = answer_time(e, "at");
        char stamp[32];
        const char *type = text_word(e, "type"), *text = text_word(e, "text");
        /* A task's news is in its job's sentence, but for why it goes on or ends. */
        if (strncmp(type, "task.", 5) == 0 && strcmp(type, "task.failed") != 0 &&
            strcmp(type, "task.retry") != 0)
            continue;
        snprintf(stamp, sizeof stamp, "+%.2fs", at > start ? (double)(at - start) / 1000 : 0);
        buf_addf(out, "%10s  %-13s %s\n", stamp, type, text);
    }
}

/* ---- tasks ---- */

enum { TASK, STATE, NODE, ATTEMPT, STARTED, TOOK, END, COLUMN_N };
static const struct table_column columns[COLUMN_N] = {
    [TASK] = { .title = "TASK" },       [STATE] = { .title = "STATE" },
    [NODE] = { .title = "NODE" },       [ATTEMPT] = { .title = "ATTEMPT", .right = true },
    [STARTED] = { .title = "STARTED" }, [TOOK] = { .title = "TOOK", .right = true },
    [END] = { .title = "END" },
};

static const char *end_of(struct cli *cli, const struct text_node *attempt)
{
    const char *text = answer_text(attempt, "text", text_word(attempt, "reason"));
    if (answer_has(attempt, "exit_code"))
        return arena_printf(cli->arena, "exit %llu%s%s",
                            (unsigned long long)text_number(attempt, "exit_code"),
                            *text ? ": " : "", text);
    if (answer_has(attempt, "signal"))
        return arena_printf(cli->arena, "signal %llu%s%s",
                            (unsigned long long)text_number(attempt, "signal"), *text ? ": " : "",
                            text);
    return text;
}

static void attempt_row(struct cli *cli, struct table *t, const struct text_node *task,
                        const struct text_node *attempt)
{
    char text[FMT_MAX];
    uint64_t start = answer_time(attempt, "started"), end = answer_time(attempt, "ended");
    const char **row = table_row(t);
    row[TASK] = answer_text(task, "name", answer_text(task, "task", "?"));
    row[STATE] = attempt && attempt->next ? text_word(attempt, "state") : text_word(task, "state");
    row[NODE] = text_word(attempt, "node");
    row[ATTEMPT] = attempt ? arena_printf(cli->arena, "%llu",
                                          (unsigned long long)text_number(attempt, "attempt"))
                           : "";
    row[STARTED] = start ? arena_strdup(cli->arena, fmt_time_local(text, start)) : "";
    if (start && end)
        row[TOOK] =
            arena_printf(cli->arena, "%.1fs", end > start ? (double)(end - start) / 1000 : 0);
    row[END] = end_of(cli, attempt);
    table_color(t, STATE, out_state_color(row[STATE]));
}

static void put_tasks(struct cli *cli, const struct text_node *job, bool all, struct buf *out)
{
    const struct text_node *list = text_get(job, "task_list");
    struct table table;
    size_t n = 0;
    if (!list || !list->count)
        return;
    table_init(&table, cli->arena, columns, COLUMN_N, true);
    for (const struct text_node *task = list->first; task && (all || n < TASKS_SHOWN);
         task = task->next, n++) {
        const struct text_node *attempts = text_get(task, "attempts");
        const struct text_node *a = attempts ? attempts->last : NULL;
        if (all && attempts && attempts->count)
            for (a = attempts->first; a; a = a->next)
                attempt_row(cli, &table, task, a);
        else
            attempt_row(cli, &table, task, a);
    }
    buf_putc(out, '\n');
    table_print(&table, 0, cli->color, out);
    if (n < list->count)
        buf_addf(out, "and %zu more (--all)\n", list->count - n);
}

/* ---- devices ---- */

enum { D_TASK, D_NODE, D_GPU, D_MODEL, D_MEMORY, D_FIGURES, D_COLUMN_N };
static const struct table_column device_columns[D_COLUMN_N] = {
    [D_TASK] = { .title = "TASK" },
    [D_NODE] = { .title = "NODE" },
    [D_GPU] = { .title = "GPU" },
    [D_MODEL] = { .title = "MODEL" },
    [D_MEMORY] = { .title = "MEMORY", .right = true },
    [D_FIGURES] = { .title = "NOW" },
};

static void device_row(struct cli *cli, struct table *t, const struct text_node *task,
                       const struct text_node *attempt, const struct text_node *device)
{
    char size[48];
    const char **row = table_row(t), *error = text_word(device, "error");
    row[D_TASK] = answer_text(task, "name", "?");
    row[D_NODE] = text_word(attempt, "node");
    row[D_GPU] = answer_text(device, "name", "?");
    row[D_MODEL] = answer_text(device, "model", "?");
    row[D_MEMORY] = arena_strdup(cli->arena, out_size(size, text_number(device, "memory")));
    row[D_FIGURES] = *error ? error : device_figures_text(cli->arena, device);
}

/* Of tasks that run on devices that a driver knows. */
static void put_devices(struct cli *cli, const struct text_node *job, bool all, struct buf *out)
{
    const struct text_node *list = text_get(job, "task_list");
    struct table table;
    size_t n = 0;
    table_init(&table, cli->arena, device_columns, D_COLUMN_N, true);
    for (const struct text_node *task = list ? list->first : NULL; task; task = task->next) {
        const struct text_node *attempts = text_get(task, "attempts");
        const struct text_node *attempt = attempts ? attempts->last : NULL;
        const struct text_node *devices = attempt ? text_get(attempt, "devices") : NULL;
        for (const struct text_node *d = devices ? devices->first : NULL; d; d = d->next)
            if (++n <= TASKS_SHOWN || all)
                device_row(cli, &table, task, attempt, d);
    }
    if (n == 0)
        return;
    buf_putc(out, '\n');
    table_print(&table, 0, cli->color, out);
    if (n > TASKS_SHOWN && !all)
        buf_addf(out, "and %zu more devices (--all)\n", n - TASKS_SHOWN);
}

static const char *last_lines(const char *text, unsigned lines)
{
    const char *at = text + strlen(text);
    while (at > text && at[-1] == '\n')
        at--;
    while (at > text && lines) {
        at--;
        if (*at == '\n' && --lines == 0)
            return at + 1;
    }
    return text;
}

/* Of the tasks that failed; those that did well said what they had to in their logs. */
static void put_tails(struct cli *cli, const struct text_node *job, struct buf *out)
{
    const struct text_node *list = text_get(job, "task_list");
    unsigned shown = 0;
    for (const struct text_node *task = list ? list->first : NULL; task && shown < 4;
         task = task->next) {
        const struct text_node *attempts = text_get(task, "attempts");
        const char *tail = text_word(attempts ? attempts->last : NULL, "tail");
        if (strcmp(text_word(task, "state"), "failed") != 0 || !*tail)
            continue;
        buf_addf(out, "%s%s wrote last:\n", shown++ ? "" : "\n", answer_text(task, "name", "?"));
        for (const char *at = last_lines(tail, TAIL_LINES); *at;) {
            size_t n = strcspn(at, "\n");
            buf_addf(out, "  %s\n", table_clip(cli->arena, arena_strndup(cli->arena, at, n), 200));
            at += n + (at[n] == '\n');
        }
    }
}

/* ---- the verb ---- */

static int show_origin(struct cli *cli, const char *job, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    struct http_response response;
    jobs_path(&path, job, "/origin");
    struct http_ask ask = { .method = "GET", .path = buf_str(&path) };
    if (!jobs_view(cli, job, NULL, err) || http_call(cli->client, &ask, &response, err) < 0)
        return -1;
    bool good = response.status < 400;
    if (good)
        out_buf(&response.body);
    else
        err_set(err, ERR_NOT_FOUND, "job %s has no text any more", job);
    buf_fini(&response.body);
    return good ? EXIT_OK : -1;
}

static int show_spec(struct cli *cli, const char *job, struct err *err)
{
    const struct text_node *view = jobs_view(cli, job, "?spec=1", err);
    const struct text_node *spec = text_get(view, "spec");
    if (!view)
        return -1;
    if (!spec)
        return err_set(err, ERR_NOT_FOUND, "the server does not tell job %s", job);
    AUTO_BUF struct buf out = BUF_INIT(64u << 20);
    if (cli->json) {
        out_json(spec);
        return EXIT_OK;
    }
    yaml_print(spec, &out);
    out_buf(&out);
    return EXIT_OK;
}

static int run_show(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct show_opts *o = opts_;
    AUTO_BUF struct buf out = BUF_INIT((size_t)256 << 20);
    if (cmd_operands(&cmd_show, argc, 1, 1, err) < 0)
        return -1;
    if (o->origin)
        return show_origin(cli, argv[0], err);
    if (o->spec)
        return show_spec(cli, argv[0], err);
    const char *parts = cli->json ? "?tasks=1&timeline=1" : "?tasks=1&timeline=1&spec=1";
    const struct text_node *job = jobs_view(cli, argv[0], parts, err);
    if (!job)
        return -1;
    if (cli->json) {
        out_json(job);
        return EXIT_OK;
    }
    if (cli->quiet) {
        printf("%s\n", jobs_label(cli->arena, job));
        return EXIT_OK;
    }
    put_head(cli, job, &out);
    put_timeline(job, &out);
    put_tasks(cli, job, o->all, &out);
    put_devices(cli, job, o->all, &out);
    put_tails(cli, job, &out);
    out_buf(&out);
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster show 12",
    "by number; by name the newest live one; by id",
    "muster show '12[3]'",
    "of array 12 the job with index 3",
    "muster show ddp --all",
    "every task, every attempt",
    "muster show ddp --spec",
    "in muster's own words",
    NULL,
};
const struct cmd cmd_show = {
    .name = "show",
    .summary = "one job: state, why, time line, tasks",
    .operands = "JOB",
    .opts = opts,
    .size = sizeof(struct show_opts),
    .examples = examples,
    .run = run_show,
};
