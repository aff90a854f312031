/* muster get: jobs and tasks as the objects they are where their files come from, in the tables of
 * kubectl, and the names of the catalogue; with --watch rows come again when they change. */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/table.h"
#include "job/catalogue.h"
#include "text/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MAX 1000

struct get_opts {
    struct common_opts common;
    const char *namespace;
    bool watch, all;
};
static const struct opt opts[] = {
    { .name = "namespace",
      .letter = 'n',
      .type = OPT_STR,
      .offset = offsetof(struct get_opts, namespace),
      .arg = "NAME",
      .help = "only of this one (project); left out: all, with their names" },
    { .name = "all-namespaces",
      .letter = 'A',
      .type = OPT_FLAG,
      .offset = offsetof(struct get_opts, all),
      .help = "the same as without -n" },
    { .name = "watch",
      .letter = 'w',
      .type = OPT_FLAG,
      .offset = offsetof(struct get_opts, watch),
      .help = "go on, a row for each change" },
    COMMON_OPTS,
    OPT_END,
};

enum { COLUMNS_MAX = 10 };
struct get_request;
struct kind {
    const char *names[5]; /* its own, one of it, others; NULL ends */
    bool declared;        /* in the catalogue: no namespace, columns are called as its fields */
    const char *list;     /* member of the answer */
    struct table_column columns[COLUMNS_MAX]; /* the first is the namespace */
    size_t n_columns;
    struct text_node *(*fetch)(const struct get_request *, struct err *);
    void (*fill)(const struct get_request *, const struct text_node *, const char **row);
    const char *empty;
};

struct get_request {
    struct cli *cli;
    const struct get_opts *opts;
    const struct kind *kind;
    const char *name;         /* NULL: all */
    struct string_map *shown; /* "namespace/name" -> what its row said */
    size_t widths[COLUMNS_MAX];
    uint64_t last; /* event that was there before the last look */
};

static const char *age(struct cli *cli, const struct text_node *object, const char *since)
{
    char text[FMT_MAX];
    uint64_t at = answer_time(object, since), now = clock_wall_ms();
    return at ? arena_strdup(cli->arena, fmt_age(text, now > at ? now - at : 0)) : "";
}

static const char *count(struct cli *cli, const struct text_node *object, const char *key)
{
    return arena_printf(cli->arena, "%llu", (unsigned long long)text_number(object, key));
}

/* ---- jobs ---- */

/* The newest of each name; "namespace" is added, so that all kinds have it. */
static void keep_newest(struct cli *cli, const struct text_node *page, struct string_map *seen,
                        struct text_node *list)
{
    const struct text_node *jobs = text_get(page, "jobs");
    for (const struct text_node *job = jobs ? jobs->first : NULL; job; job = job->next) {
        const char *project = answer_text(job, "project", "default");
        const char *name = arena_printf(cli->arena, "%s/%s", project, text_word(job, "name"));
        if (string_map_get(seen, name))
            continue;
        string_map_set(seen, name, list);
        text_str(cli->arena, text_copy(cli->arena, list, NULL, job), "namespace", project);
    }
}

static struct text_node *fetch_jobs(const struct get_request *g, struct err *err)
{
    struct cli *cli = g->cli;
    AUTO_BUF struct buf path = BUF_INIT(4096);
    struct text_node *root = text_map(cli->arena, NULL, NULL), *page;
    struct text_node *list = text_list(cli->arena, root, "jobs");
    struct string_map *seen = string_map_create();
    const char *before = NULL;
    do {
        buf_clear(&path);
        call_path(&path, "/v1/jobs", NULL, NULL);
        call_query(&path, "from", "elasticjob");
        call_query(&path, "before", before);
        call_query_number(&path, "limit", PAGE_MAX);
        page = call_get(cli, buf_str(&path), err);
        if (page)
            keep_newest(cli, page, seen, list);
        before = page ? answer_text(page, "next", NULL) : NULL;
    } while (before);
    string_map_destroy(seen);
    return page ? root : NULL;
}

static void fill_job(const struct get_request *g, const struct text_node *job, const char **row)
{
    struct cli *cli = g->cli;
    row[2] = answer_text(job, "word", text_word(job, "state"));
    row[3] = age(cli, job, "submitted");
    row[4] = count(cli, job, "number");
    row[5] =
        arena_printf(cli->arena, "%llu/%llu", (unsigned long long)text_number(job, "tasks_running"),
                     (unsigned long long)text_number(job, "tasks"));
    row[6] = text_word(job, "reason");
}

/* ---- pods ---- */

static struct text_node *fetch_pods(const struct get_request *g, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    call_path(&path, "/v1/pods", NULL, NULL);
    call_query(&path, "namespace", g->opts->namespace);
    return call_get(g->cli, buf_str(&path), err);
}

static void fill_pod(const struct get_request *g, const struct text_node *pod, const char **row)
{
    struct cli *cli = g->cli;
    row[2] = text_word(pod, "ready");
    row[3] = text_word(pod, "status");
    row[4] = count(cli, pod, "restarts");
    row[5] = age(cli, pod, "created");
    row[6] = answer_text(pod, "ip", "<none>");
    row[7] = answer_text(pod, "node", "<none>");
}

/* ---- names of the catalogue ---- */

static struct text_node *fetch_declared(const struct get_request *g, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    call_path(&path, "/v1/catalogue/", g->kind->list, NULL);
    return call_get(g->cli, buf_str(&path), err);
}

static void fill_declared(const struct get_request *g, const struct text_node *entry,
                          const char **row)
{
    for (size_t i = 2; i < g->kind->n_columns; i++) {
        char key[32] = "";
        const char *title = g->kind->columns[i].title;
        for (size_t k = 0; title[k] && k + 1 < sizeof key; k++)
            key[k] = title[k] == ' ' ? '_' : (char)(title[k] | 0x20);
        row[i] = answer_shown(entry, key, "");
    }
}

#define DECLARED(plural, one, shown, n, ...)                                                       \
    {                                                                                              \
        .names = { plural, one }, .declared = true, .list = plural,                                \
        .columns = { { .title = "NAMESPACE" }, { .title = "NAME" }, __VA_ARGS__ },                 \
        .n_columns = (n), .fetch = fetch_declared, .fill = fill_declared,                          \
        .empty = "no " shown " declared"                                                           \
    }
#define PEOPLE                                                                                     \
    {                                                                                              \
        .title = "DESCRIPTION", .wide = true                                                       \
    }

static const struct kind kinds[] = {
    { .names = { "elasticjobs", "elasticjob", "elasticjobs.elastic.iml.github.io", "ej" },
      .list = "jobs",
      .columns = { { .title = "NAMESPACE" },
                   { .title = "NAME" },
                   { .title = "PHASE" },
                   { .title = "AGE" },
                   { .title = "NUMBER", .wide = true },
                   { .title = "RUNNING", .wide = true },
                   { .title = "NOTE", .wide = true } },
      .n_columns = 7,
      .fetch = fetch_jobs,
      .fill = fill_job,
      .empty = "no ElasticJobs" },
    { .names = { "pods", "pod", "po" },
      .list = "pods",
      .columns = { { .title = "NAMESPACE" },
                   { .title = "NAME" },
                   { .title = "READY" },
                   { .title = "STATUS" },
                   { .title = "RESTARTS" },
                   { .title = "AGE" },
                   { .title = "IP", .wide = true },
                   { .title = "NODE", .wide = true } },
      .n_columns = 8,
      .fetch = fetch_pods,
      .fill = fill_pod,
      .empty = "no pods" },
    DECLARED("workspaces", "workspace", "workspaces", 4, { .title = "QUEUE" },
             { .title = "DESCRIPTION" }),
    DECLARED("quotas", "quota", "quotas", 7, { .title = "PARENT" }, { .title = "STRATEGY" },
             { .title = "USER CPU" }, { .title = "USER GPU" }, { .title = "DESCRIPTION" }),
    DECLARED("virtual_clusters", "virtual_cluster", "virtual clusters", 7, { .title = "PARENT" },
             { .title = "STRATEGY" }, { .title = "USER CPU" }, { .title = "USER GPU" },
             { .title = "DESCRIPTION" }),
    DECLARED("instance_types", "instance_type", "instance types", 7, { .title = "CPU" },
             { .title = "MEMORY" }, { .title = "GPU" }, { .title = "GPU TYPE" }, PEOPLE),
    DECLARED("datasets", "dataset", "data sets", 6, { .title = "URI" }, { .title = "PATH" },
             { .title = "READ ONLY", .wide = true }, PEOPLE),
    DECLARED("code_sources", "code_source", "code sources", 5, { .title = "URI" },
             { .title = "PATH" }, PEOPLE),
    DECLARED("images", "image", "images", 4, { .title = "URI" }, PEOPLE),
};
_Static_assert(ARRAY_LEN(kinds) == 2 + ENTRY_KIND_N, "every kind of the catalogue has a row");
#define KIND_NAMES "elasticjobs pods" ENTRY_PLURALS

static const struct kind *find_kind(const char *word, struct err *err)
{
    enum entry_kind entry;
    bool declared = entry_kind_parse(word, &entry);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (size_t k = 0; kinds[i].names[k]; k++)
            if (strcmp(kinds[i].names[k], word) == 0 ||
                (declared && strcmp(kinds[i].names[k], entry_plural(entry)) == 0))
                return &kinds[i];
    err_set(err, ERR_INPUT, "\"%.60s\" is nothing to get", word);
    err_hint(err, KIND_NAMES);
    return NULL;
}

/* ---- showing ---- */

static bool is_wanted(const struct get_request *g, const struct text_node *object)
{
    const char *namespace = g->kind->declared ? NULL : g->opts->namespace;
    return (!namespace || strcmp(text_word(object, "namespace"), namespace) == 0) &&
           (!g->name || strcmp(text_word(object, "name"), g->name) == 0);
}

static int by_name(const void *a, const void *b)
{
    const struct text_node *x = *(const struct text_node *const *)a,
                           *y = *(const struct text_node *const *)b;
    int order = strcmp(text_word(x, "namespace"), text_word(y, "namespace"));
    return order ? order : strcmp(text_word(x, "name"), text_word(y, "name"));
}

/* What is wanted, in the order of names. */
static const struct text_node **chosen(const struct get_request *g, const struct text_node *answer,
                                       size_t *n)
{
    const struct text_node *list = text_get(answer, g->kind->list);
    const struct text_node **at =
        ARENA_ARRAY(g->cli->arena, list ? list->count : 0, const struct text_node *);
    *n = 0;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (is_wanted(g, one))
            at[(*n)++] = one;
    if (*n)
        qsort(at, *n, sizeof(struct text_node *), by_name);
    return at;
}

static const char *key_of(const struct get_request *g, const struct text_node *object)
{
    return arena_printf(g->cli->arena, "%s/%s", text_word(object, "namespace"),
                        text_word(object, "name"));
}

/* All of a row but its age. */
static const char *said(const struct get_request *g, const char **row)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    for (size_t i = 0; i < g->kind->n_columns; i++)
        if (strcmp(g->kind->columns[i].title, "AGE") != 0)
            buf_addf(&out, "%s\t", row[i]);
    return arena_strdup(g->cli->arena, buf_str(&out));
}

static void fill(const struct get_request *g, const struct text_node *object, const char **row)
{
    row[0] = text_word(object, "namespace");
    row[1] = text_word(object, "name");
    g->kind->fill(g, object, row);
}

static void print_document(const struct get_request *g, const struct text_node *const *at, size_t n)
{
    struct text_node *root = text_map(g->cli->arena, NULL, NULL);
    struct text_node *list = text_list(g->cli->arena, root, g->kind->list);
    for (size_t i = 0; i < n; i++)
        text_copy(g->cli->arena, list, NULL, at[i]);
    out_json(root);
}

/* Rows that are new or differ from what was shown; the first time all, under a head. */
static void show(struct get_request *g, const struct text_node *const *at, size_t n, bool head)
{
    AUTO_BUF struct buf out = BUF_INIT(64u << 20);
    struct table table;
    struct table_column columns[COLUMNS_MAX];
    size_t skip = g->opts->namespace || g->kind->declared ? 1 : 0,
           n_columns = g->kind->n_columns - skip;
    memcpy(columns, g->kind->columns + skip, n_columns * sizeof *columns);
    for (size_t i = 0; i < n_columns && !head; i++) {
        columns[i].title = "";
        columns[i].least = g->widths[i];
    }
    table_init(&table, g->cli->arena, columns, n_columns, g->cli->wide);
    for (size_t i = 0; i < n; i++) {
        const char *row[COLUMNS_MAX] = { 0 }, *key = key_of(g, at[i]);
        fill(g, at[i], row);
        const char *now = said(g, row), *before = string_map_get(g->shown, key);
        if (before && strcmp(before, now) == 0)
            continue;
        string_map_set(g->shown, key, (void *)(uintptr_t)now);
        if (g->cli->json)
            json_print(at[i], 0, &out), buf_putc(&out, '\n');
        else if (g->cli->quiet)
            buf_addf(&out, "%s\n", row[1]);
        else
            memcpy(table_row(&table), row + skip, n_columns * sizeof *row);
    }
    if (table.rows)
        table_print(&table, 0, g->cli->color, &out);
    if (head)
        table_widths(&table, g->widths);
    out_buf(&out);
    fflush(stdout);
}

static int look(struct get_request *g, bool head, struct err *err)
{
    size_t n;
    const struct text_node *answer = g->kind->fetch(g, err);
    if (!answer)
        return -1;
    const struct text_node **at = chosen(g, answer, &n);
    if (head && g->name && n == 0)
        return err_set(err, ERR_NOT_FOUND, "no %s \"%.120s\"", g->kind->names[1], g->name);
    if (g->cli->json && !g->opts->watch) {
        print_document(g, at, n);
        return 0;
    }
    show(g, at, n, head);
    if (head && n == 0 && !g->cli->quiet && !g->cli->json)
        fprintf(stderr, "%s%s%s\n", g->kind->empty, g->opts->namespace ? " in " : "",
                g->opts->namespace ? g->opts->namespace : "");
    return 0;
}

/* ---- watching ---- */

static void want_events(void *arg, struct buf *path, struct buf *body)
{
    struct get_request *g = arg;
    (void)body;
    call_path(path, "/v1/events", NULL, NULL);
    call_query_number(path, "after", g->last);
    call_query(path, "follow", "1");
}

/* One connection serves both: the stream ends at the first event, the look covers all since. */
static bool on_event(void *arg, const struct text_node *event)
{
    (void)arg;
    return !answer_has(event, "seq");
}

static int last_event(struct get_request *g, struct err *err)
{
    const struct text_node *server = call_get(g->cli, "/v1/server", err);
    const struct text_node *stats = server ? text_get(server, "stats") : NULL;
    if (!stats)
        return -1;
    g->last = answer_number(stats, "events", g->last);
    return 0;
}

static int watch(struct get_request *g, struct err *err)
{
    struct follow follow = { .request = want_events,
                             .record = on_event,
                             .gone = follow_say_gone,
                             .back = follow_say_back,
                             .arg = g };
    while (follow_run(g->cli, &follow, err) == 0)
        if (last_event(g, err) < 0 || look(g, false, err) < 0)
            break;
    return -1;
}

static int run_get(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    struct get_request g = { .cli = cli, .opts = opts_ };
    if (cmd_operands(&cmd_get, argc, 1, 2, err) < 0)
        return -1;
    g.kind = find_kind(argv[0], err);
    g.name = argc > 1 ? argv[1] : NULL;
    if (!g.kind)
        return -1;
    if (g.kind->declared && g.opts->watch) {
        err_set(err, ERR_INPUT, "--watch shows what runs, and %s do not", g.kind->names[0]);
        return err_remedy_of(err, REMEDY_LIST_KIND, "%s", g.kind->names[0]);
    }
    g.shown = string_map_create();
    int rc = g.opts->watch ? last_event(&g, err) : 0;
    if (rc == 0)
        rc = look(&g, true, err);
    if (rc == 0 && g.opts->watch)
        rc = watch(&g, err);
    string_map_destroy(g.shown);
    return rc < 0 ? -1 : EXIT_OK;
}

static const char *const examples[] = {
    "muster get elasticjobs -n dlrover",
    "their phases",
    "muster get pods -n dlrover -w",
    "their tasks as pods, a row for each change",
    "muster get instance_types",
    "what EcsSpec may name",
    NULL,
};
const struct cmd cmd_get = {
    .name = "get",
    .summary = "ElasticJobs and pods as kubectl shows them; declared names",
    .operands = "elasticjobs|pods|quotas|datasets|... [NAME]",
    .opts = opts,
    .size = sizeof(struct get_opts),
    .subs = KIND_NAMES,
    .examples = examples,
    .run = run_get,
};
