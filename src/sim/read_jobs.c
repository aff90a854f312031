/* Our own format: a document {jobs: [...], failures: [...]} in YAML or JSON, or one JSON object a
 * line, which is either. A job says when it comes and how long it runs; all else is the job itself,
 * as in a job file. */
#include "sim/reading.h"

#include "base/mem.h"
#include "base/scan.h"
#include "sim/world.h"
#include "text/detect.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define COUNT_MAX   10000000u
#define PATTERN_MAX (4u << 20)
#define TIME_MAX_MS (36500ull * 24 * 3600 * 1000)

/* The keys of a job that are not the job's own. */
#define AT    "at"
#define RUNS  "runs"
#define COUNT "count"
#define EVERY "every"
#define USER  "user"
#define EXIT  "exit"
#define JOB   "job"

static const char *scalar(const struct text_node *n)
{
    return n && n->str && n->kind != TEXT_NULL ? n->str : "";
}

static void bad(struct reading *r, const struct text_node *n, const char *where,
                const char *expected)
{
    struct problem *p =
        report_error(r->report, n->place, where, "%s%s%s is %s%.60s%s", where, n->key ? "." : "",
                     n->key ? n->key : "", n->str ? "\"" : text_kind_word(n->kind),
                     n->str ? n->str : "", n->str ? "\"" : "");
    report_hint(r->report, p, "%s", expected);
}

/* The default stays where the key is not there. -1: reported. */
static int read_duration(struct reading *r, const struct text_node *map, const char *key,
                         const char *where, uint64_t *ms)
{
    const struct text_node *n = text_get(map, key);
    if (!n || (scan_duration(scalar(n), ms) && *ms <= TIME_MAX_MS))
        return 0;
    bad(r, n, where, "a time up to 36500d: 90s, 15m, 2h, 1h30m, or seconds");
    return -1;
}

static int read_number(struct reading *r, const struct text_node *map, const char *key,
                       const char *where, uint64_t *value)
{
    const struct text_node *n = text_get(map, key);
    if (!n || scan_u64(scalar(n), 0, COUNT_MAX, value))
        return 0;
    bad(r, n, where, "a whole number");
    return -1;
}

static bool is_ours(const char *key)
{
    static const char *const ours[] = { AT, RUNS, COUNT, EVERY, USER, EXIT };
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (strcmp(ours[i], key) == 0)
            return true;
    return false;
}

/* A job without a name and a command gets some: nothing runs them. */
static void print_job(struct arena *arena, const struct text_node *row, struct buf *out)
{
    const struct text_node *whole = text_get(row, JOB);
    struct text_node *root = text_map(arena, NULL, NULL);
    if (whole && whole->kind == TEXT_MAP) {
        json_print(whole, 0, out);
        return;
    }
    for (const struct text_node *n = row->first; n; n = n->next)
        if (!is_ours(n->key))
            text_copy(arena, root, n->key, n);
    bool commanded = text_get(root, "roles") || text_get(root, "run") || text_get(root, "argv");
    if (!commanded)
        text_str(arena, root, "run", ":");
    if (!text_get(root, "name"))
        text_str(arena, root, "name", "job");
    json_print(root, 0, out);
}

static void read_job(struct reading *r, const struct text_node *row, const char *where)
{
    AUTO_BUF struct buf text = BUF_INIT(PATTERN_MAX);
    uint64_t count = 1, every = 0, code = 0;
    struct arrival arrival = { .run_ms = 0 };
    if (!text_get(row, RUNS)) {
        struct problem *p =
            report_error(r->report, row->place, where, "%s does not say how long it runs", where);
        report_hint(r->report, p, "runs: 10m");
        return;
    }
    if (read_duration(r, row, AT, where, &arrival.at_ms) |
        read_duration(r, row, RUNS, where, &arrival.run_ms) |
        read_duration(r, row, EVERY, where, &every) | read_number(r, row, COUNT, where, &count) |
        read_number(r, row, EXIT, where, &code))
        return;
    if (code > 255) {
        bad(r, text_get(row, EXIT), where, "an exit code: 0 to 255");
        return;
    }
    if (count && every > (TIME_MAX_MS - arrival.at_ms) / count) {
        bad(r, text_get(row, EVERY), where, "so short that the last comes within 36500d");
        return;
    }
    const char *user = scalar(text_get(row, USER));
    arrival.owner = reading_word(r, *user ? user : "user");
    arrival.code = (int)code;
    struct arena *scratch = arena_create();
    print_job(scratch, row, &text);
    arrival.pattern = reading_pattern(r, buf_str(&text), row->place, where);
    arena_destroy(scratch);
    if (arrival.pattern == UINT32_MAX)
        return;
    for (uint64_t i = 0; i < count && reading_arrival(r, &arrival); i++)
        arrival.at_ms += every;
}

/* {tasks: 0.01}: so many attempts of all fail. */
static void read_share(struct reading *r, const struct text_node *n, const char *where)
{
    double share;
    if (scan_real(scalar(n), &share) && share >= 0 && share <= 1)
        r->fail_ppm = (uint64_t)(share * 1e6 + 0.5);
    else
        bad(r, n, where, "a share of all attempts: 0 to 1");
}

static void read_failure(struct reading *r, const struct text_node *row, const char *where)
{
    const struct text_node *tasks = text_get(row, "tasks"), *node = text_get(row, "node");
    struct outage out = { .place = row->place };
    if (tasks) {
        read_share(r, tasks, where);
        return;
    }
    if (!node || !*scalar(node) || !text_get(row, AT)) {
        struct problem *p =
            report_error(r->report, row->place, where, "%s names no node and time", where);
        report_hint(r->report, p, "{node: n1, at: 3h, back: 4h}, or {tasks: 0.01}");
        return;
    }
    if (read_duration(r, row, AT, where, &out.at_ms) |
        read_duration(r, row, "back", where, &out.back_ms))
        return;
    if (out.back_ms && out.back_ms <= out.at_ms) {
        bad(r, text_get(row, "back"), where, "a time after at");
        return;
    }
    out.node = arena_strdup(r->arena, scalar(node));
    vec_push(&r->outages, out);
}

static void read_list(struct reading *r, const struct text_node *list, const char *name,
                      void (*read)(struct reading *, const struct text_node *, const char *))
{
    char where[64];
    size_t i = 0;
    if (!list)
        return;
    if (list->kind != TEXT_LIST) {
        struct problem *p = report_error(r->report, list->place, name, "%s is %s", name,
                                         text_kind_word(list->kind));
        report_hint(r->report, p, "a list");
        return;
    }
    for (const struct text_node *n = list->first; n; n = n->next, i++) {
        snprintf(where, sizeof where, "%s[%zu]", name, i);
        if (n->kind == TEXT_MAP)
            read(r, n, where);
        else
            bad(r, n, where, "a map: {at: 0s, runs: 10m, resources: {gpu: 1}}");
    }
}

/* ---- one object a line ---- */

static void read_line(struct reading *r, const struct text_node *row, uint64_t n)
{
    char where[64];
    bool failure = text_get(row, "node") || text_get(row, "tasks");
    snprintf(where, sizeof where, "row %llu", (unsigned long long)n);
    if (row->kind != TEXT_MAP)
        bad(r, row, where, "an object: {\"at\": 0, \"runs\": 60}");
    else if (failure && !text_get(row, RUNS))
        read_failure(r, row, where);
    else
        read_job(r, row, where);
}

static void move(struct place *place, uint32_t line, uint32_t offset)
{
    place->line = line;
    place->offset += offset;
}

/* Places within a line become places within the text. */
static void move_all(struct text_node *n, uint32_t line, uint32_t offset)
{
    move(&n->place, line, offset);
    move(&n->key_place, line, offset);
    for (struct text_node *c = n->first; c; c = c->next)
        move_all(c, line, offset);
}

static void read_lines(struct reading *r)
{
    struct arena *scratch = arena_create();
    uint64_t n = 0;
    uint32_t line = 0;
    for (size_t at = 0; at < r->len;) {
        const char *start = r->text + at, *newline = memchr(start, '\n', r->len - at);
        size_t len = newline ? (size_t)(newline - start) : r->len - at;
        line++;
        if (len && start[strspn(start, " \t\r")] != '\n' && strspn(start, " \t\r") < len) {
            struct report own;
            report_init(&own, scratch);
            struct text_node *row = json_parse(scratch, start, len, JSON_COMMENTS, &own);
            for (size_t i = 0; i < own.n; i++) {
                struct place place = own.at[i].place;
                move(&place, line, (uint32_t)at);
                report_add(r->report, own.at[i].severity, place, "", own.at[i].what,
                           own.at[i].hint);
            }
            if (row && report_ok(&own)) {
                move_all(row, line, (uint32_t)at);
                read_line(r, row, ++n);
            }
            arena_reset(scratch);
        }
        at += len + 1;
    }
    arena_destroy(scratch);
}

/* Does the first line, an object, end before the text does? */
static bool line_by_line(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len && strchr(" \t\r\n", text[at]))
        at++;
    const char *newline = at < len && text[at] == '{' ? memchr(text + at, '\n', len - at) : NULL;
    if (at == len || text[at] != '{')
        return false;
    struct arena *scratch = arena_create();
    struct report report;
    report_init(&report, scratch);
    size_t first = newline ? (size_t)(newline - text) - at : len - at;
    const struct text_node *root = json_parse(scratch, text + at, first, JSON_COMMENTS, &report);
    bool yes = root && report_ok(&report) && !text_get(root, "jobs");
    arena_destroy(scratch);
    return yes;
}

void read_jobs(struct reading *r)
{
    if (line_by_line(r->text, r->len)) {
        read_lines(r);
        return;
    }
    const struct text_node *root = text_parse(r->arena, r->text, r->len, r->report);
    if (!root || !report_ok(r->report))
        return;
    if (!text_get(root, "jobs")) {
        struct problem *p = report_error(r->report, root->place, "", "this is no workload");
        report_hint(r->report, p, "%s",
                    "{jobs: [{at: 0s, runs: 10m}]}, JSON lines, openb, sacct --parsable2, or SWF");
        return;
    }
    for (const struct text_node *n = root->first; n; n = n->next) {
        if (strcmp(n->key, "jobs") == 0 || strcmp(n->key, "failures") == 0 ||
            declarations_key(n->key))
            continue;
        struct problem *p =
            report_error(r->report, n->key_place, n->key, "unknown field \"%.60s\"", n->key);
        report_hint(r->report, p, "jobs failures " DECLARATIONS_KEYS);
    }
    declarations_read(r->says, root, r->report);
    read_list(r, text_get(root, "jobs"), "jobs", read_job);
    read_list(r, text_get(root, "failures"), "failures", read_failure);
}
