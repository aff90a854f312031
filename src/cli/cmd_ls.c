/* muster ls: jobs, newest first; or the members of an array, by index. Fetches pages, fits columns
 * to the screen, and repaints it with --watch. */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/clock_text.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "cli/table.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define PAGE_MAX 1000 /* the server gives no more at once */
#define NOTE_MAX 500  /* columns */
#define LOOK_MS  1000 /* between two looks of --watch */

struct ls_opts {
    struct common_opts common;
    bool live, all, watch;
    bool whole; /* every page */
    const char *state, *user, *queue, *name, *from, *before;
    const char *array; /* the operand */
    uint64_t limit;
};
static const struct opt opts[] = {
    { .name = "state",
      .letter = 's',
      .type = OPT_STR,
      .offset = offsetof(struct ls_opts, state),
      .arg = "A,B",
      .help = "suspended queued starting running restarting stopping succeeded failed stopped" },
    { .name = "live",
      .letter = 'l',
      .type = OPT_FLAG,
      .offset = offsetof(struct ls_opts, live),
      .help = "only jobs that have not ended" },
    { .name = "all",
      .letter = 'a',
      .type = OPT_FLAG,
      .offset = offsetof(struct ls_opts, all),
      .help = "every one, not only the newest, and the jobs of arrays" },
    { .name = "watch",
      .letter = 'w',
      .type = OPT_FLAG,
      .offset = offsetof(struct ls_opts, watch),
      .help = "look again every second, until Ctrl-C" },
    { .name = "user",
      .letter = 'u',
      .type = OPT_STR,
      .offset = offsetof(struct ls_opts, user),
      .arg = "NAME",
      .help = "of this user" },
    { .name = "queue",
      .type = OPT_STR,
      .offset = offsetof(struct ls_opts, queue),
      .arg = "QUEUE",
      .help = "in this queue" },
    { .name = "name",
      .type = OPT_STR,
      .offset = offsetof(struct ls_opts, name),
      .arg = "START",
      .help = "whose name begins so" },
    { .name = "from",
      .type = OPT_STR,
      .offset = offsetof(struct ls_opts, from),
      .arg = "FORMAT",
      .help = "submitted in this format" },
    { .name = "limit",
      .letter = 'n',
      .type = OPT_U64,
      .offset = offsetof(struct ls_opts, limit),
      .arg = "N",
      .help = "at most so many (50)" },
    { .name = "before",
      .type = OPT_STR,
      .offset = offsetof(struct ls_opts, before),
      .arg = "ID",
      .help = "go on after the job with this id" },
    COMMON_OPTS,
    OPT_END,
};

enum {
    NUMBER,
    NAME,
    USER,
    FROM,
    STATE,
    TASKS,
    GPU,
    QUEUE,
    AGE,
    ID,
    PRIORITY,
    SUBMITTED,
    RESTARTS,
    PROMISED,
    NOTE,
    COLUMN_N
};
static const struct table_column columns[COLUMN_N] = {
    [NUMBER] = { .title = "#", .right = true },
    [NAME] = { .title = "NAME" },
    [USER] = { .title = "USER", .go = 4 },
    [FROM] = { .title = "FROM", .go = 1 },
    [STATE] = { .title = "STATE" },
    [TASKS] = { .title = "TASKS", .right = true },
    [GPU] = { .title = "GPU", .right = true, .go = 3 },
    [QUEUE] = { .title = "QUEUE", .go = 2 },
    [AGE] = { .title = "AGE", .right = true },
    [ID] = { .title = "ID", .wide = true },
    [PRIORITY] = { .title = "PRIORITY", .right = true, .wide = true },
    [SUBMITTED] = { .title = "SUBMITTED", .wide = true },
    [RESTARTS] = { .title = "RESTARTS", .right = true, .wide = true },
    [PROMISED] = { .title = "PROMISED", .wide = true },
    [NOTE] = { .title = "NOTE" },
};

static const char *number_of(struct arena *a, const struct text_node *job, const char *key)
{
    return arena_printf(a, "%llu", (unsigned long long)text_number(job, key));
}

/* "openpai" of "openpai v1": the version matters to nobody who looks over a list. */
static const char *format_of(struct arena *a, const struct text_node *job)
{
    const char *title =
        answer_text(job, "title", answer_text(job, "from", text_word(job, "dialect")));
    return arena_strndup(a, title, strcspn(title, " "));
}

static const char *tasks_of(struct arena *a, const struct text_node *job, bool final)
{
    unsigned long long all = text_number(job, "tasks");
    const struct text_node *members = text_get(job, "member_states");
    if (members && !final) /* its jobs, which is what it counts */
        return arena_printf(a, "%llu/%llu", (unsigned long long)text_number(members, "running"),
                            (unsigned long long)text_number(job, "members"));
    if (final)
        return arena_printf(a, "%llu", all);
    return arena_printf(a, "%llu/%llu", (unsigned long long)text_number(job, "tasks_running"), all);
}

/* Why it waits, and until when. */
static const char *reason_of(struct cli *cli, const struct text_node *job, uint64_t now)
{
    const char *reason = answer_text(job, "note", text_word(job, "reason"));
    uint64_t at = answer_time(job, "expected");
    char text[CLOCK_TEXT_MAX];
    if (!at)
        return reason;
    return arena_printf(cli->arena, "%s%sabout %s", reason, *reason ? ", " : "",
                        clock_text(text, at, now));
}

/* Machines that are silent: first those that the job waits for. NULL: there is none. */
static const char *silent_of(struct cli *cli, const struct text_node *job)
{
    const struct text_node *list = text_get(job, "away"), *first = NULL;
    size_t n = 0;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (!text_flag(one, "left") && n++ == 0)
            first = one;
    const char *what = n ? "waits for" : "goes on without";
    if (!n && list) {
        n = list->count;
        first = list->first;
    }
    if (!n)
        return NULL;
    const char *node = answer_text(first, "node", "?");
    return n == 1 ? arena_printf(cli->arena, "%s machine %s, which is silent", what, node)
                  : arena_printf(cli->arena, "%s machine %s and %zu more, which are silent", what,
                                 node, n - 1);
}

static const char *note_of(struct cli *cli, const struct text_node *job, uint64_t now)
{
    const char *silent = silent_of(cli, job);
    if (silent)
        return table_clip(cli->arena, silent, NOTE_MAX);
    bool running = strcmp(text_word(job, "state"), "running") == 0;
    if (running && !answer_has(job, "note") && !answer_has(job, "members"))
        return strcmp(text_word(job, "runtime"), "host") == 0 ? "on the host, not in its image"
                                                              : "";
    return table_clip(cli->arena, reason_of(cli, job, now), NOTE_MAX);
}

static void add_row(struct cli *cli, struct table *table, const struct text_node *job, uint64_t now)
{
    struct arena *a = cli->arena;
    char text[FMT_MAX];
    const char *state = answer_text(job, "state", "?");
    uint64_t at = answer_time(job, "submitted");
    const char **row = table_row(table);
    row[NUMBER] = jobs_label(a, job);
    row[NAME] = table_clip(a, jobs_name(a, job), cli->wide ? 128 : 32);
    row[USER] = table_clip(a, text_word(job, "owner"), 32);
    row[FROM] = format_of(a, job);
    row[STATE] = state;
    row[TASKS] = tasks_of(a, job, out_final(state));
    row[GPU] = arena_strdup(a, fmt_milli(text, text_number(job, "gpu_milli")));
    row[QUEUE] = table_clip(a, text_word(job, "queue"), 32);
    row[AGE] = at ? arena_strdup(a, fmt_age(text, now > at ? now - at : 0)) : "";
    row[ID] = text_word(job, "id");
    row[PRIORITY] = number_of(a, job, "priority");
    row[SUBMITTED] = at ? arena_strdup(a, fmt_time_local(text, at)) : "";
    row[RESTARTS] = number_of(a, job, "restarts");
    uint64_t promised = answer_time(job, "promised");
    row[PROMISED] = promised ? arena_strdup(a, fmt_time_local(text, promised)) : "";
    row[NOTE] = note_of(cli, job, now);
    table_color(table, STATE, out_state_color(state));
}

/* Of a terminal, unless -o wide asks for everything. */
static size_t screen_width(const struct cli *cli)
{
    struct winsize size = { .ws_col = 0 };
    bool cut = cli->tty && !cli->wide;
    return cut && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void print_list(struct cli *cli, const struct text_node *jobs, struct buf *out)
{
    struct table table;
    uint64_t now = clock_wall_ms();
    table_init(&table, cli->arena, columns, COLUMN_N, cli->wide);
    table.width = screen_width(cli);
    for (const struct text_node *job = jobs ? jobs->first : NULL; job; job = job->next) {
        if (cli->quiet)
            buf_addf(out, "%s\n", jobs_label(cli->arena, job));
        else
            add_row(cli, &table, job, now);
    }
    if (!cli->quiet)
        table_print(&table, 0, cli->color, out);
}

static void make_path(const struct ls_opts *o, struct buf *path)
{
    call_path(path, "/v1/jobs", NULL, NULL);
    call_query(path, "state",
               o->live ? "suspended,queued,starting,running,restarting,stopping" : o->state);
    call_query(path, "owner", o->user);
    call_query(path, "queue", o->queue);
    call_query(path, "name", o->name);
    call_query(path, "from", o->from);
    call_query(path, "before", o->before);
    call_query(path, "array", o->array);
    if (o->limit)
        call_query_number(path, "limit", o->limit);
    if (!o->whole && !o->array)
        call_query(path, "count", "1");
}

/* One page, or the whole: every page joined to the first. */
static struct text_node *fetch_pages(struct cli *cli, const struct ls_opts *asked, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(64 << 10);
    struct ls_opts copy = *asked, *o = &copy;
    struct text_node *first = NULL, *list = NULL, *page;
    if (o->whole)
        o->limit = PAGE_MAX;
    do {
        make_path(o, &path);
        page = call_get(cli, buf_str(&path), err);
        if (!page)
            return NULL;
        struct text_node *jobs = text_get(page, "jobs");
        if (list && jobs && jobs->first) {
            list->last->next = jobs->first;
            list->last = jobs->last;
            list->count += jobs->count;
        }
        list = list ? list : jobs;
        first = first ? first : page;
        o->before = answer_text(page, "next", NULL);
    } while (o->whole && o->before && list && list->count &&
             (!asked->limit || list->count < asked->limit));
    struct text_node *next = text_get(first, "next");
    if (o->whole && next)
        next->kind = TEXT_NULL;
    return first;
}

/* The jobs of each array of the list, behind it. */
static int unfold(struct cli *cli, const struct ls_opts *o, struct text_node *jobs, struct err *err)
{
    for (struct text_node *job = jobs ? jobs->first : NULL; job;) {
        struct text_node *next = job->next;
        if (answer_has(job, "members")) {
            struct ls_opts of = { .whole = true, .live = o->live, .state = o->state };
            of.array = text_word(job, "id");
            struct text_node *page = fetch_pages(cli, &of, err);
            struct text_node *members = page ? text_get(page, "jobs") : NULL;
            if (!page)
                return -1;
            if (members && members->first) {
                job->next = members->first;
                members->last->next = next;
                jobs->last = next ? jobs->last : members->last;
                jobs->count += members->count;
            }
        }
        job = next;
    }
    return 0;
}

/* The first so many of the list; 0: all. */
static void cut(struct text_node *jobs, uint64_t most)
{
    struct text_node *last = jobs ? jobs->first : NULL;
    if (!most || !last || jobs->count <= most)
        return;
    for (uint64_t i = 1; i < most; i++)
        last = last->next;
    last->next = NULL;
    jobs->last = last;
    jobs->count = most;
}

static struct text_node *fetch(struct cli *cli, const struct ls_opts *o, struct err *err)
{
    struct text_node *tree = fetch_pages(cli, o, err);
    struct text_node *jobs = tree ? text_get(tree, "jobs") : NULL;
    cut(jobs, o->limit);
    if (tree && o->all && !o->array && unfold(cli, o, jobs, err) < 0)
        return NULL;
    cut(jobs, o->limit);
    return tree;
}

/* What the list does not show, and how to see it. */
static void say_rest(const struct cli *cli, const struct ls_opts *o, const struct text_node *tree)
{
    const struct text_node *jobs = text_get(tree, "jobs");
    const char *next = answer_text(tree, "next", NULL);
    unsigned long long shown = jobs ? jobs->count : 0, all = text_number(tree, "total");
    fflush(stdout);
    if (!shown)
        fputs("no jobs\n", stderr);
    else if (next && all > shown && !o->before)
        fprintf(stderr, "%llu of %llu jobs; -a lists all, --before %s goes on\n", shown, all, next);
    else if (next && cli->tty)
        fprintf(stderr, "%s ones: --before %s\n", o->array ? "further" : "older", next);
}

/* The screen is written over line by line, so that nothing flickers. */
static void repaint(const struct buf *text)
{
    AUTO_BUF struct buf out = BUF_INIT(64u << 20), shown = BUF_INIT(64u << 20);
    out_visible(buf_str(text), text->len, &shown);
    buf_puts(&out, "\033[H");
    for (const char *at = buf_str(&shown); *at;) {
        size_t n = strcspn(at, "\n");
        buf_add(&out, at, n);
        buf_puts(&out, "\033[K\n");
        at += n + (at[n] == '\n');
    }
    buf_puts(&out, "\033[J");
    out_screen(STDOUT_FILENO, &out);
}

/* Elsewhere than on a terminal each look that differs is printed, after an empty line. */
static int watch(struct cli *cli, const struct ls_opts *o, struct err *err)
{
    AUTO_BUF struct buf before = BUF_INIT(64u << 20), now = BUF_INIT(64u << 20);
    struct arena *kept = cli->arena;
    char clear[] = "\033[2J";
    if (cli->tty)
        out_screen(STDOUT_FILENO, &(struct buf){ .data = clear, .len = sizeof clear - 1 });
    for (bool first = true;; first = false) {
        cli->arena = arena_create();
        const struct text_node *tree = fetch(cli, o, err);
        buf_clear(&now);
        if (tree)
            print_list(cli, text_get(tree, "jobs"), &now);
        arena_destroy(cli->arena);
        cli->arena = kept;
        if (!tree)
            return -1;
        if (cli->tty) {
            repaint(&now);
        } else if (first || strcmp(buf_str(&before), buf_str(&now)) != 0) {
            fputs(first ? "" : "\n", stdout);
            out_buf(&now);
            fflush(stdout);
        }
        buf_clear(&before);
        buf_puts(&before, buf_str(&now));
        (void)poll(NULL, 0, LOOK_MS);
    }
}

static int check_ls(const struct cli *cli, const struct ls_opts *o, struct err *err)
{
    if (o->array && (o->user || o->queue || o->name || o->from)) {
        err_set(err, ERR_INPUT, "--user, --queue, --name and --from are of lists of jobs");
        return err_remedy_of(err, REMEDY_LIST_STATE, "%s", o->array);
    }
    if (o->live && o->state) {
        err_set(err, ERR_INPUT, "--live and --state both choose states");
        return err_hint(err, "give one of them");
    }
    if (o->watch && cli->json) {
        err_set(err, ERR_INPUT, "--watch shows tables, --json is one document");
        return err_hint(err, "give one of them");
    }
    return 0;
}

static int run_ls(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(64u << 20);
    struct ls_opts o = *(const struct ls_opts *)opts_;
    if (cmd_operands(&cmd_ls, argc, 0, 1, err) < 0)
        return -1;
    o.array = argc ? argv[0] : NULL;
    o.whole = o.all || (cli->quiet && !o.limit && !o.before); /* scripts want all numbers */
    if (check_ls(cli, &o, err) < 0)
        return -1;
    if (o.watch)
        return watch(cli, &o, err);
    const struct text_node *tree = fetch(cli, &o, err);
    if (!tree)
        return -1;
    if (cli->json) {
        out_json(tree);
        return EXIT_OK;
    }
    print_list(cli, text_get(tree, "jobs"), &out);
    out_buf(&out);
    if (!cli->quiet)
        say_rest(cli, &o, tree);
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster ls",
    "the newest 50",
    "muster ls --live",
    "what waits and runs",
    "muster ls --state failed,stopped --user ada -n 10",
    "",
    "muster ls 12 --state failed",
    "of the jobs of array 12 those that failed",
    "muster ls -q --live | xargs muster stop",
    "numbers only, all of them",
    "muster ls --watch",
    "what happens, until Ctrl-C",
    "muster ls -o wide",
    "with ids, times, restarts",
    NULL,
};
const struct cmd cmd_ls = {
    .name = "ls",
    .summary = "list jobs, newest first, or those of an array",
    .operands = "[ARRAY]",
    .opts = opts,
    .size = sizeof(struct ls_opts),
    .examples = examples,
    .run = run_ls,
};
