/* The tables of a result, and of two beside each other, as text for a terminal. Figures come from
 * the result; only their form is made here. */
#include "sim/report.h"

#include "base/mem.h"
#include "base/scan.h"
#include "sim/result.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const struct text_node *map, const char *key)
{
    const struct text_node *n = text_get(map, key);
    return n && n->str ? n->str : "";
}

static uint64_t number(const struct text_node *result, const char *path)
{
    double value = 0;
    return result_number(result, path, &value) && value > 0 ? (uint64_t)value : 0;
}

static double share(const struct text_node *result, const char *path)
{
    double value = 0;
    result_number(result, path, &value);
    return value;
}

/* For people: "1h23m" is enough where "1h23m45s678ms" is known. */
static const char *span(char out[FMT_MAX], uint64_t ms)
{
    uint64_t s = (ms + 500) / 1000, m = (s + 30) / 60;
    if (ms < 10000)
        snprintf(out, FMT_MAX, "%.1fs", (double)ms / 1000);
    else if (s < 600)
        snprintf(out, FMT_MAX, "%llus", (unsigned long long)s);
    else if (m < 60)
        snprintf(out, FMT_MAX, "%llum", (unsigned long long)m);
    else if (m < 600)
        snprintf(out, FMT_MAX, "%lluh%02llum", (unsigned long long)m / 60,
                 (unsigned long long)m % 60);
    else
        snprintf(out, FMT_MAX, "%.1fh", (double)m / 60);
    return out;
}

static void put_waits(const struct text_node *result, struct buf *out)
{
    static const char *const keys[] = { "mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms" };
    const struct text_node *waits = text_get(result, "waits");
    char text[FMT_MAX];
    buf_addf(out, "%-8s %10s %10s %10s %10s %10s %10s\n", "SIZE", "STARTED", "MEAN WAIT", "P50",
             "P95", "P99", "MOST");
    for (const struct text_node *w = waits ? waits->first : NULL; w; w = w->next) {
        if (number(w, "jobs") == 0)
            continue;
        buf_addf(out, "%-8s %10llu", text_of(w, "size"), (unsigned long long)number(w, "jobs"));
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            buf_addf(out, " %10s", span(text, number(w, keys[i])));
        buf_putc(out, '\n');
    }
}

static void put_jobs(const struct text_node *result, struct buf *out)
{
    static const char *const words[] = { "refused", "failed", "stopped", "unfinished" };
    char key[32];
    buf_addf(out, "jobs           %llu submitted, %llu succeeded",
             (unsigned long long)number(result, "jobs.submitted"),
             (unsigned long long)number(result, "jobs.succeeded"));
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        snprintf(key, sizeof key, "jobs.%s", words[i]);
        if (number(result, key))
            buf_addf(out, ", %llu %s", (unsigned long long)number(result, key), words[i]);
    }
    buf_putc(out, '\n');
    if (*text_of(result, "first_refusal"))
        buf_addf(out, "refused        %s\n", text_of(result, "first_refusal"));
    const struct text_node *warnings = text_get(result, "warnings");
    for (const struct text_node *n = warnings ? warnings->first : NULL; n; n = n->next)
        buf_addf(out, "warning        %s\n", n->str ? n->str : "");
}

static void put_preempted(const struct text_node *result, struct buf *out)
{
    const struct text_node *list = text_get(result, "preempted");
    buf_addf(out, "preemptions    %llu jobs\n", (unsigned long long)number(result, "preemptions"));
    for (const struct text_node *n = list ? list->first : NULL; n; n = n->next) {
        const char *to = text_of(n, "for");
        buf_addf(out, "  of %s for %s: %llu, with %.1f gpu-hours and %.1f cpu-hours lost\n",
                 text_of(n, "from"), *to ? to : "a price above the bid",
                 (unsigned long long)number(n, "jobs"), (double)number(n, "lost_gpu_s") / 3600,
                 (double)number(n, "lost_cpu_s") / 3600);
    }
}

static void put_promises(const struct text_node *result, struct buf *out)
{
    const struct text_node *list = text_get(result, "violations");
    char key[64], text[FMT_MAX];
    buf_addf(out, "promises       %llu made, %llu kept, %llu late\n",
             (unsigned long long)number(result, "promises.made"),
             (unsigned long long)number(result, "promises.kept"),
             (unsigned long long)number(result, "promises.late"));
    for (int i = BREAK_NONE + 1; i < BREAK_N; i++) {
        enum promise_break why = (enum promise_break)i;
        snprintf(key, sizeof key, "promises.late_because.%s", promise_break_word(why));
        if (number(result, key))
            buf_addf(out, "  %llu as %s\n", (unsigned long long)number(result, key),
                     promise_break_text(why));
    }
    buf_addf(out, "violations     %llu of the bound\n",
             (unsigned long long)number(result, "bound_violations"));
    for (const struct text_node *n = list ? list->first : NULL; n; n = n->next) {
        buf_addf(out, "  job %llu (%s) was promised %s", (unsigned long long)number(n, "job"),
                 text_of(n, "name"), span(text, number(n, "promised_ms")));
        if (text_get(n, "started_ms") && text_get(n, "started_ms")->kind == TEXT_INT)
            buf_addf(out, " and started %s\n", span(text, number(n, "started_ms")));
        else
            buf_puts(out, " and never started\n");
    }
}

static void put_explained(const struct text_node *result, struct buf *out)
{
    const struct text_node *e = text_get(result, "explained");
    if (!e)
        return;
    buf_addf(out,
             "explained      %llu answers: %llu of %llu bounds beaten, %llu of %llu sets wrong\n",
             (unsigned long long)number(e, "asked"), (unsigned long long)number(e, "bounds_beaten"),
             (unsigned long long)number(e, "bounds"), (unsigned long long)number(e, "ahead_wrong"),
             (unsigned long long)number(e, "ahead_told"));
    buf_addf(
        out,
        "  %llu estimates off by (median, p90): by limits %.1f %%, %.1f %%; by learnt run times "
        "%.1f %%, %.1f %%\n",
        (unsigned long long)number(e, "estimates"), 100 * share(e, "error_by_limit.p50"),
        100 * share(e, "error_by_limit.p90"), 100 * share(e, "error_by_learnt.p50"),
        100 * share(e, "error_by_learnt.p90"));
}

void report_text(const struct text_node *result, struct buf *out)
{
    char text[FMT_MAX];
    buf_addf(out, "cluster        %llu nodes, %llu gpus, %llu cpus\n",
             (unsigned long long)number(result, "cluster.nodes"),
             (unsigned long long)number(result, "cluster.gpus"),
             (unsigned long long)number(result, "cluster.cpus"));
    put_jobs(result, out);
    buf_addf(out, "time           %s\n\n", span(text, number(result, "makespan_ms")));
    put_waits(result, out);
    buf_addf(out, "\nutilisation    gpu %.1f %%, cpu %.1f %%",
             100 * share(result, "utilisation.gpu"), 100 * share(result, "utilisation.cpu"));
    buf_addf(out, "   (while jobs come: gpu %.1f %%, cpu %.1f %%)\n",
             100 * share(result, "utilisation_while_jobs_come.gpu"),
             100 * share(result, "utilisation_while_jobs_come.cpu"));
    buf_addf(out, "fragmentation  %.1f %% of the free gpus\n",
             100 * share(result, "fragmentation"));
    buf_addf(out, "lost work      %.1f gpu-hours, %.1f cpu-hours in %llu attempts\n",
             (double)number(result, "lost_gpu_s") / 3600,
             (double)number(result, "lost_cpu_s") / 3600,
             (unsigned long long)number(result, "attempts_lost"));
    put_preempted(result, out);
    put_promises(result, out);
    put_explained(result, out);
}

/* ---- two results ---- */

enum unit { SHARE, SPAN, NUMBER, HOURS };
static const struct row {
    const char *title, *path;
    enum unit unit;
} rows[] = {
    { "gpu utilisation", "utilisation.gpu", SHARE },
    { "  while jobs come", "utilisation_while_jobs_come.gpu", SHARE },
    { "cpu utilisation", "utilisation.cpu", SHARE },
    { "fragmentation", "fragmentation", SHARE },
    { "time", "makespan_ms", SPAN },
    { "succeeded", "jobs.succeeded", NUMBER },
    { "failed", "jobs.failed", NUMBER },
    { "refused", "jobs.refused", NUMBER },
    { "unfinished", "jobs.unfinished", NUMBER },
    { "preemptions", "preemptions", NUMBER },
    { "lost gpu time", "lost_gpu_s", HOURS },
    { "promises", "promises.made", NUMBER },
    { "  late", "promises.late", NUMBER },
    { "bound violations", "bound_violations", NUMBER },
};

static const char *show(char out[FMT_MAX], enum unit unit, double value)
{
    switch (unit) {
    case SHARE: snprintf(out, FMT_MAX, "%.1f %%", 100 * value); break;
    case SPAN: return span(out, value > 0 ? (uint64_t)value : 0);
    case HOURS: snprintf(out, FMT_MAX, "%.1f h", value / 3600); break;
    case NUMBER: snprintf(out, FMT_MAX, "%.0f", value); break;
    }
    return out;
}

/* Of shares the points, of all else the part by which b is more than a. */
static const char *change(char out[FMT_MAX], enum unit unit, double a, double b)
{
    if (a == b)
        snprintf(out, FMT_MAX, "=");
    else if (unit == SHARE)
        snprintf(out, FMT_MAX, "%+.1f", 100 * (b - a));
    else if (a > 0)
        snprintf(out, FMT_MAX, "%+.1f %%", 100 * (b / a - 1));
    else
        snprintf(out, FMT_MAX, "new");
    return out;
}

static void put_pair(struct buf *out, const struct row *row, const struct text_node *a,
                     const struct text_node *b)
{
    char first[FMT_MAX], second[FMT_MAX], third[FMT_MAX];
    double x = 0, y = 0;
    bool first_has = result_number(a, row->path, &x), second_has = result_number(b, row->path, &y);
    if (first_has || second_has)
        buf_addf(out, "%-22s %12s %12s %10s\n", row->title, show(first, row->unit, x),
                 show(second, row->unit, y), change(third, row->unit, x, y));
}

static const struct text_node *wait_of(const struct text_node *result, const char *size)
{
    const struct text_node *waits = text_get(result, "waits");
    for (const struct text_node *w = waits ? waits->first : NULL; w; w = w->next)
        if (strcmp(text_of(w, "size"), size) == 0)
            return w;
    return NULL;
}

static void put_wait_pairs(struct buf *out, const struct text_node *a, const struct text_node *b)
{
    static const char *const keys[] = { "mean_ms", "p50_ms", "p95_ms", "p99_ms" };
    static const char *const words[] = { "mean", "p50", "p95", "p99" };
    const struct text_node *waits = text_get(a, "waits");
    char title[64];
    for (const struct text_node *w = waits ? waits->first : NULL; w; w = w->next) {
        const struct text_node *other = wait_of(b, text_of(w, "size"));
        if (!other || (number(w, "jobs") == 0 && number(other, "jobs") == 0))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
            snprintf(title, sizeof title, "wait %.20s %s", text_of(w, "size"), words[i]);
            put_pair(out, &(struct row){ title, keys[i], SPAN }, w, other);
        }
    }
}

static bool same_input(const struct text_node *a, const struct text_node *b)
{
    static const char *const keys[] = { "cluster", "workload", "seed" };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct text_node *x = text_get(a, keys[i]), *y = text_get(b, keys[i]);
        if (!x || !y || !text_equal(x, y))
            return false;
    }
    return true;
}

void report_compare(const struct text_node *a, const struct text_node *b, struct buf *out)
{
    buf_addf(out, "%-22s %12s %12s %10s\n", "", "A", "B", "CHANGE");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        put_pair(out, &rows[i], a, b);
    put_wait_pairs(out, a, b);
    if (!same_input(a, b))
        buf_puts(out, "\nA and B have not the same cluster, workload and seed\n");
}
