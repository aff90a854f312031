/* Which format a workload's text is in, and what all readers share: job texts that are alike are
 * read once, into a pattern, and words are kept once. Problems are said at the row that has
 * them. */
#include "sim/workload.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "sim/reading.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define PATTERN_MAX (1u << 20)

const char *reading_word(struct reading *r, const char *word)
{
    char *known = string_map_get(r->words, word);
    if (!known) {
        known = arena_strdup(r->arena, word);
        string_map_set(r->words, known, known);
    }
    return known;
}

static void add_queue(struct reading *r, const char *queue)
{
    if (!queue || !*queue)
        return;
    for (size_t i = 0; i < r->queues.n; i++)
        if (strcmp(r->queues.at[i], queue) == 0)
            return;
    vec_push(&r->queues, queue);
}

/* What is wrong with a job is said at the row that has it: its text may be made from the row. */
static void hand_on(struct reading *r, const struct report *from, struct place place,
                    const char *where)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct problem *p = &from->at[i];
        if (p->severity != SEVERITY_ERROR)
            continue;
        struct problem *own = report_error(r->report, place, where, "%s: %s", where, p->what);
        report_hint(r->report, own, "%s", p->hint);
    }
}

uint32_t reading_pattern(struct reading *r, const char *text, struct place place, const char *where)
{
    uintptr_t known = (uintptr_t)string_map_get(r->texts, text);
    if (known)
        return (uint32_t)known - 1;
    struct site site = { .owner = "sim" };
    struct dialect_request request = { .text = text, .len = strlen(text), .site = &site };
    struct dialect_result result = { 0 };
    struct arena *scratch = arena_create();
    struct report report;
    report_init(&report, scratch);
    uint32_t at = UINT32_MAX;
    /* The job may point into its report's texts: it is read into the arena that lasts. */
    if (dialect_read(r->dialects, r->arena, &request, &result, &report)) {
        hand_on(r, &report, place, where);
    } else {
        vec_push(&r->patterns, ((struct pattern){ .text = arena_strdup(r->arena, text),
                                                  .len = request.len,
                                                  .from = result.dialect->name,
                                                  .spec = result.job,
                                                  .place = place }));
        add_queue(r, result.job->queue);
        string_map_set(r->texts, text, (void *)(uintptr_t)r->patterns.n);
        at = (uint32_t)r->patterns.n - 1;
    }
    arena_destroy(scratch);
    return at;
}

static void add_types(struct arena *arena, struct text_node *resources, const char *types)
{
    struct text_node *list = text_list(arena, resources, "gpu_type");
    for (const char *at = types; *at;) {
        size_t n = strcspn(at, "|");
        text_str(arena, list, NULL, arena_strndup(arena, at, n));
        at += n + (at[n] == '|');
    }
}

/* The job of a row in muster's own words. A trace says how each job ended, so none is retried for
 * its exit code. */
static void print_trace(struct arena *arena, const struct trace_job *job, struct buf *out)
{
    char text[FMT_MAX];
    struct text_node *root = text_map(arena, NULL, NULL);
    text_int(arena, root, "muster", 1);
    text_str(arena, root, "name", "job");
    text_str(arena, root, "run", ":");
    text_int(arena, root, "replicas", (int64_t)job->tasks);
    if (*job->queue)
        text_str(arena, root, "queue", job->queue);
    if (job->priority)
        text_int(arena, root, "priority", (int64_t)job->priority);
    struct text_node *resources = text_map(arena, root, "resources");
    if (job->cpu_milli)
        text_str(arena, resources, "cpu", fmt_milli(text, job->cpu_milli));
    if (job->memory)
        text_str(arena, resources, "memory", fmt_size(text, job->memory));
    if (job->gpu_milli)
        text_str(arena, resources, "gpu", fmt_milli(text, job->gpu_milli));
    if (*job->gpu_types)
        add_types(arena, resources, job->gpu_types);
    if (job->limit_ms)
        text_str(arena, text_map(arena, root, "limits"), "run_time",
                 fmt_duration(text, job->limit_ms));
    text_str(arena, text_map(arena, root, "retry"), "unknown", "never");
    json_print(root, 0, out);
}

uint32_t reading_trace(struct reading *r, const struct trace_job *job, const struct sheet *sheet)
{
    AUTO_BUF struct buf text = BUF_INIT(PATTERN_MAX);
    char where[48];
    struct arena *scratch = arena_create();
    struct place place = { .line = sheet->line,
                           .col = 1,
                           .offset = (uint32_t)(sheet->fields[0].at - sheet->text) };
    snprintf(where, sizeof where, "row %llu", (unsigned long long)sheet->row);
    print_trace(scratch, job, &text);
    uint32_t at = reading_pattern(r, buf_str(&text), place, where);
    arena_destroy(scratch);
    return at;
}

bool reading_arrival(struct reading *r, const struct arrival *arrival)
{
    if (r->arrivals.n >= WORKLOAD_JOBS_MAX) {
        if (r->arrivals.n == WORKLOAD_JOBS_MAX)
            report_error(r->report, (struct place){ 0 }, "", "more than %u jobs",
                         WORKLOAD_JOBS_MAX);
        return false;
    }
    vec_push(&r->arrivals, *arrival);
    r->patterns.at[arrival->pattern].jobs++;
    return true;
}

/* ---- which format ---- */

static bool has(const char *line, size_t len, const char *word)
{
    return memmem(line, len, word, strlen(word)) != NULL;
}

static bool numbers_only(const char *line, size_t len)
{
    size_t words = 0;
    for (size_t i = 0; i < len; i++) {
        if (!strchr("0123456789.-+ \t\r", line[i]))
            return false;
        words += !strchr(" \t\r", line[i]) && (i == 0 || strchr(" \t\r", line[i - 1]));
    }
    return words >= 5;
}

static const struct {
    const char *name;
    void (*read)(struct reading *);
} formats[] = {
    { .name = "openb", .read = read_openb },
    { .name = "sacct", .read = read_sacct },
    { .name = "swf", .read = read_swf },
    { .name = "jobs", .read = read_jobs },
};

/* By the first line that is not blank. */
static size_t format_of(const char *text, size_t len)
{
    size_t at = 0, n = 0;
    while (at < len && strchr(" \t\r\n", text[at]))
        at++;
    const char *line = text + at;
    while (at + n < len && line[n] != '\n')
        n++;
    if (n == 0)
        return 3;
    if (has(line, n, "|") && (has(line, n, "JobID") || has(line, n, "jobid")))
        return 1;
    if (has(line, n, ",") && has(line, n, "cpu_milli"))
        return 0;
    return *line == ';' || numbers_only(line, n) ? 2 : 3;
}

/* ---- in order ---- */

static int by_time(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

/* Stable, though qsort need not be: arrivals come mostly in order, and a merge keeps that cheap. */
static void sort(struct arrival *at, struct arrival *spare, size_t n)
{
    if (n < 2)
        return;
    size_t half = n / 2, i = 0, k = half, to = 0;
    sort(at, spare, half);
    sort(at + half, spare, n - half);
    if (by_time(&at[half - 1], &at[half]) <= 0)
        return;
    memcpy(spare, at, n * sizeof *at);
    while (i < half || k < n)
        at[to++] =
            k == n || (i < half && by_time(&spare[i], &spare[k]) <= 0) ? spare[i++] : spare[k++];
}

/* Times of a trace begin with its first job; those of our own are what they are. */
static void begin_at_zero(struct arrival *at, size_t n)
{
    uint64_t first = n ? at[0].at_ms : 0;
    for (size_t i = 0; i < n; i++)
        at[i].at_ms -= first;
}

static void *kept(struct arena *arena, const void *at, size_t n, size_t size)
{
    void *copy = arena_array(arena, n, size);
    if (n)
        memcpy(copy, at, n * size);
    return copy;
}

static void finish(struct reading *r, struct workload *w)
{
    if (r->arrivals.n == 0 && report_ok(r->report))
        report_error(r->report, (struct place){ 0 }, "", "there is no job in it");
    w->fail_ppm = r->fail_ppm;
    w->left_out = r->left_out;
    w->n_patterns = r->patterns.n;
    w->n_arrivals = r->arrivals.n;
    w->n_outages = r->outages.n;
    w->patterns = kept(r->arena, r->patterns.at, r->patterns.n, sizeof *w->patterns);
    w->outages = kept(r->arena, r->outages.at, r->outages.n, sizeof *w->outages);
    w->queues.n = r->queues.n;
    w->queues.at = kept(r->arena, r->queues.at, r->queues.n, sizeof *w->queues.at);
    w->arrivals = kept(r->arena, r->arrivals.at, r->arrivals.n, sizeof *w->arrivals);
    if (r->arrivals.n)
        sort(w->arrivals, r->arrivals.at, r->arrivals.n);
    if (strcmp(w->format, "jobs") != 0)
        begin_at_zero(w->arrivals, w->n_arrivals);
    if (r->left_out)
        report_warn(r->report, (struct place){ 0 }, "",
                    "%llu rows are left out: their jobs never ran",
                    (unsigned long long)r->left_out);
}

int workload_read(const struct dialects *dialects, const char *text, size_t len,
                  struct workload *workload, struct report *report)
{
    struct reading r = { .dialects = dialects,
                         .text = text,
                         .len = len,
                         .arena = report->arena,
                         .report = report,
                         .texts = string_map_create(),
                         .words = string_map_create(),
                         .says = &workload->says };
    size_t format = format_of(text, len);
    *workload = (struct workload){ .format = formats[format].name, .says = workload->says };
    formats[format].read(&r);
    finish(&r, workload);
    string_map_destroy(r.texts);
    string_map_destroy(r.words);
    vec_fini(&r.patterns);
    vec_fini(&r.arrivals);
    vec_fini(&r.outages);
    vec_fini(&r.queues);
    return report_ok(report) ? 0 : -1;
}
