/* Sums over time are taken whenever time goes on; a point of the series is how it was when the next
 * multiple of every_ms was passed. */
#include "sim/score.h"

#include "base/mem.h"

#include <string.h>

#define EVERY_FIRST_MS 1000u
#define WHOLE          1000u

static const char *const words[SIZE_N] = { "1", "2-8", "9-64", ">64" };

const char *size_class_word(enum size_class size)
{
    return size < SIZE_N ? words[size] : "all";
}

static const char *const gpu_words[GPUS_N] = { "0", "<1", "1", "2", "3-4", "5-8", ">8" };

const char *gpu_class_word(enum gpu_class gpus)
{
    return gpu_words[gpus];
}

static uint64_t gpu_milli_of(const struct job_spec *spec)
{
    uint64_t gpu_milli = 0;
    for (size_t i = 0; i < spec->n_roles; i++)
        gpu_milli += spec->roles[i].replicas * spec->roles[i].resources.gpu_milli;
    return gpu_milli;
}

enum gpu_class gpu_class_of(const struct job_spec *spec)
{
    uint64_t milli = gpu_milli_of(spec);
    if (milli < WHOLE)
        return milli ? GPUS_SHARE : GPUS_NONE;
    return milli <= WHOLE       ? GPUS_1
           : milli <= 2 * WHOLE ? GPUS_2
           : milli <= 4 * WHOLE ? GPUS_4
           : milli <= 8 * WHOLE ? GPUS_8
                                : GPUS_MORE;
}

enum size_class size_class_of(const struct job_spec *spec)
{
    uint64_t gpu_milli = gpu_milli_of(spec), tasks = 0;
    for (size_t i = 0; i < spec->n_roles; i++)
        tasks += spec->roles[i].replicas;
    uint64_t size = gpu_milli ? (gpu_milli + WHOLE - 1) / WHOLE : tasks;
    return size <= 1 ? SIZE_1 : size <= 8 ? SIZE_8 : size <= 64 ? SIZE_64 : SIZE_MORE;
}

void score_init(struct score *t, struct cluster_usage *usage, uint64_t now_ms)
{
    *t = (struct score){ .usage = usage,
                         .from_ms = now_ms,
                         .now_ms = now_ms,
                         .every_ms = EVERY_FIRST_MS,
                         .next_ms = now_ms,
                         .arriving = true };
}

void score_fini(struct score *t)
{
    for (int i = 0; i < SIZE_N; i++)
        vec_fini(&t->waits[i]);
    for (int i = 0; i < GPUS_N; i++)
        vec_fini(&t->waits_by_gpus[i]);
    vec_fini(&t->series);
    vec_fini(&t->takings);
}

static void add_use(struct use *use, const struct cluster_usage_sums *sums, double ms)
{
    use->gpu_used += ms * (double)sums->gpu_used;
    use->gpu_all += ms * (double)sums->gpu_all;
    use->cpu_used += ms * (double)sums->cpu_used;
    use->cpu_all += ms * (double)sums->cpu_all;
}

static void thin(struct score *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->series.n; i += 2)
        t->series.at[kept++] = t->series.at[i];
    t->series.n = kept;
    t->every_ms *= 2;
    t->next_ms = t->series.at[kept - 1].at_ms + t->every_ms;
}

static void add_point(struct score *t, uint64_t at_ms)
{
    struct cluster_usage_sums sums = cluster_usage_sums(t->usage);
    struct point point = { .at_ms = at_ms,
                           .gpu_used = sums.gpu_used,
                           .gpu_all = sums.gpu_all,
                           .cpu_used = sums.cpu_used,
                           .cpu_all = sums.cpu_all,
                           .waiting = t->waiting,
                           .running = t->running,
                           .fragmented = cluster_usage_fragmented(t->usage) };
    uint64_t free = sums.gpu_all > sums.gpu_used ? sums.gpu_all - sums.gpu_used : 0;
    t->use.gpu_free += (double)free * (double)t->every_ms;
    t->use.wasted += (double)free * (double)t->every_ms * point.fragmented;
    vec_push(&t->series, point);
}

void score_time(struct score *t, uint64_t now_ms)
{
    if (now_ms <= t->now_ms)
        return;
    struct cluster_usage_sums sums = cluster_usage_sums(t->usage);
    add_use(&t->use, &sums, (double)(now_ms - t->now_ms));
    if (t->arriving)
        add_use(&t->use_arriving, &sums, (double)(now_ms - t->now_ms));
    while (t->next_ms < now_ms) {
        uint64_t at_ms = t->next_ms;
        t->next_ms += t->every_ms;
        add_point(t, at_ms);
        if (t->series.n >= SERIES_MOST)
            thin(t);
    }
    t->now_ms = now_ms;
}

void score_end(struct score *t)
{
    add_point(t, t->now_ms);
}

void score_wait(struct score *t, enum size_class size, enum gpu_class gpus, uint64_t ms)
{
    vec_push(&t->waits_by_gpus[gpus], ms);
    vec_push(&t->waits[size], ms);
}

size_t score_evicted(struct score *t, const char *from, const char *to)
{
    size_t at = 0;
    while (at < t->takings.n &&
           (strcmp(t->takings.at[at].from, from) != 0 || strcmp(t->takings.at[at].to, to) != 0))
        at++;
    if (at == t->takings.n)
        vec_push(&t->takings, ((struct taking){ .from = from, .to = to }));
    t->takings.at[at].jobs++;
    t->preempted++;
    return at;
}

void score_lost(struct score *t, const struct task_usage *hold, uint64_t ms, size_t taking)
{
    double gpu = (double)ms * (double)hold->gpu_milli, cpu = (double)ms * (double)hold->cpu_milli;
    t->attempts_lost++;
    t->lost_gpu += gpu;
    t->lost_cpu += cpu;
    if (taking) {
        t->takings.at[taking - 1].gpu += gpu;
        t->takings.at[taking - 1].cpu += cpu;
    }
}

/* ---- waits ---- */

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The nearest rank: the least value that at least p of a hundred do not exceed. */
static uint64_t percentile(const uint64_t *at, size_t n, unsigned p)
{
    size_t rank = (n * p + 99) / 100;
    return at[rank ? rank - 1 : 0];
}

static struct wait_figures figures(uint64_t *at, size_t n)
{
    struct wait_figures f = { .jobs = n };
    double sum = 0;
    if (n == 0)
        return f;
    qsort(at, n, sizeof *at, by_size);
    for (size_t i = 0; i < n; i++)
        sum += (double)at[i];
    f.mean_ms = (uint64_t)(sum / (double)n + 0.5);
    f.p50_ms = percentile(at, n, 50);
    f.p95_ms = percentile(at, n, 95);
    f.p99_ms = percentile(at, n, 99);
    f.max_ms = at[n - 1];
    return f;
}

struct wait_figures score_waits_by_gpus(struct score *t, enum gpu_class gpus)
{
    return figures(t->waits_by_gpus[gpus].at, t->waits_by_gpus[gpus].n);
}

struct wait_figures score_waits(struct score *t, enum size_class size)
{
    size_t n = 0, used = 0;
    if (size < SIZE_N)
        return figures(t->waits[size].at, t->waits[size].n);
    for (int i = 0; i < SIZE_N; i++)
        n += t->waits[i].n;
    AUTO_FREE uint64_t *all = mem_new((n ? n : 1) * sizeof *all);
    for (int i = 0; i < SIZE_N; used += t->waits[i++].n)
        if (t->waits[i].n)
            memcpy(all + used, t->waits[i].at, t->waits[i].n * sizeof *all);
    return figures(all, n);
}
