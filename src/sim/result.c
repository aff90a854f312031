/* Shares are printed with four places, amounts over time in whole seconds: enough for people, and
 * the same from every compiler. */
#include "sim/result.h"

#include "base/buf.h"
#include "base/scan.h"
#include "text/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(struct arena *a, struct text_node *map, const char *key, uint64_t value)
{
    text_int(a, map, key, (int64_t)value);
}

static void put_share(struct arena *a, struct text_node *map, const char *key, double part,
                      double whole)
{
    text_real(a, map, key, whole > 0 ? floor(part / whole * 1e4 + 0.5) / 1e4 : 0);
}

static void put_settings(struct arena *a, struct text_node *root, const struct sim_settings *s)
{
    struct text_node *policy = text_map(a, root, "policy");
    char text[FMT_MAX];
    put(a, root, "seed", s->seed);
    for (int i = 0; i < POLICY_N; i++)
        if (s->policy[i])
            text_str(a, policy, sim_policy_name((enum sim_policy)i),
                     s->policy[i] == UINT64_MAX ? "never" : fmt_duration(text, s->policy[i]));
    for (size_t i = 0; i < s->n_changes; i++) {
        const struct queue_change *c = &s->changes[i];
        text_str(a, policy, c->queue ? arena_printf(a, "%s.%s", c->queue, c->field) : c->field,
                 c->value);
    }
}

static void put_inputs(struct arena *a, struct text_node *root, const struct simulation_config *c)
{
    struct text_node *cluster = text_map(a, root, "cluster"),
                     *workload = text_map(a, root, "workload");
    uint64_t gpus = 0, cpu_milli = 0, last = 0;
    for (size_t i = 0; i < c->n_nodes; i++) {
        gpus += c->nodes[i].gpus;
        cpu_milli += c->nodes[i].cpu_milli;
    }
    put(a, cluster, "nodes", c->n_nodes);
    put(a, cluster, "gpus", gpus);
    put(a, cluster, "cpus", cpu_milli / 1000);
    if (c->workload->n_arrivals)
        last = c->workload->arrivals[c->workload->n_arrivals - 1].at_ms;
    text_str(a, workload, "format", c->workload->format);
    put(a, workload, "jobs", c->workload->n_arrivals);
    put(a, workload, "left_out", c->workload->left_out);
    put(a, workload, "last_arrival_ms", last);
}

static void put_wait(struct arena *a, struct text_node *one, const struct wait_figures *f)
{
    put(a, one, "jobs", f->jobs);
    put(a, one, "mean_ms", f->mean_ms);
    put(a, one, "p50_ms", f->p50_ms);
    put(a, one, "p95_ms", f->p95_ms);
    put(a, one, "p99_ms", f->p99_ms);
    put(a, one, "max_ms", f->max_ms);
}

static void put_waits(struct arena *a, struct text_node *root, struct score *t)
{
    struct text_node *list = text_list(a, root, "waits");
    for (int i = 0; i <= SIZE_N; i++) {
        const struct wait_figures f = score_waits(t, (enum size_class)i);
        struct text_node *one = text_map(a, list, NULL);
        text_str(a, one, "size", size_class_word((enum size_class)i));
        put_wait(a, one, &f);
    }
    list = text_list(a, root, "waits_by_gpus");
    for (int i = 0; i < GPUS_N; i++) {
        const struct wait_figures f = score_waits_by_gpus(t, (enum gpu_class)i);
        struct text_node *one = text_map(a, list, NULL);
        text_str(a, one, "gpus", gpu_class_word((enum gpu_class)i));
        put_wait(a, one, &f);
    }
}

static void put_jobs(struct arena *a, struct text_node *root, const struct score *t)
{
    struct text_node *jobs = text_map(a, root, "jobs");
    put(a, jobs, "submitted", t->submitted);
    put(a, jobs, "refused", t->refused);
    put(a, jobs, "succeeded", t->succeeded);
    put(a, jobs, "failed", t->failed);
    put(a, jobs, "stopped", t->stopped);
    put(a, jobs, "unfinished", t->submitted - t->refused - t->succeeded - t->failed - t->stopped);
}

static uint64_t seconds(double milli_ms)
{
    return (uint64_t)(milli_ms / 1e6 + 0.5);
}

static void put_figures(struct arena *a, struct text_node *root, const struct score *t)
{
    struct text_node *use = text_map(a, root, "utilisation"),
                     *arriving = text_map(a, root, "utilisation_while_jobs_come");
    put_share(a, use, "gpu", t->use.gpu_used, t->use.gpu_all);
    put_share(a, use, "cpu", t->use.cpu_used, t->use.cpu_all);
    put_share(a, arriving, "gpu", t->use_arriving.gpu_used, t->use_arriving.gpu_all);
    put_share(a, arriving, "cpu", t->use_arriving.cpu_used, t->use_arriving.cpu_all);
    put_share(a, root, "fragmentation", t->use.wasted / 1e6, t->use.gpu_free);
    put(a, root, "preemptions", t->preempted);
    put(a, root, "attempts_lost", t->attempts_lost);
    put(a, root, "lost_gpu_s", seconds(t->lost_gpu));
    put(a, root, "lost_cpu_s", seconds(t->lost_cpu));
}

static void put_takings(struct arena *a, struct text_node *root, const struct score *t)
{
    struct text_node *list = text_list(a, root, "preempted");
    for (size_t i = 0; i < t->takings.n; i++) {
        const struct taking *taking = &t->takings.at[i];
        struct text_node *one = text_map(a, list, NULL);
        text_str(a, one, "from", taking->from);
        if (*taking->to)
            text_str(a, one, "for", taking->to);
        else
            text_null(a, one, "for");
        put(a, one, "jobs", taking->jobs);
        put(a, one, "lost_gpu_s", seconds(taking->gpu));
        put(a, one, "lost_cpu_s", seconds(taking->cpu));
    }
}

static void put_violations(struct arena *a, struct text_node *root, const struct workload *w,
                           const struct violation *at, size_t n, uint64_t from_ms)
{
    struct text_node *list = text_list(a, root, "violations");
    for (size_t i = 0; i < n; i++) {
        struct text_node *one = text_map(a, list, NULL);
        const struct arrival *arrival = at[i].tag ? &w->arrivals[at[i].tag - 1] : NULL;
        put(a, one, "job", at[i].tag);
        if (arrival)
            text_str(a, one, "name", w->patterns[arrival->pattern].spec->name);
        put(a, one, "made_ms", at[i].made_ms - from_ms);
        put(a, one, "promised_ms", at[i].at_ms - from_ms);
        if (at[i].started_ms)
            put(a, one, "started_ms", at[i].started_ms - from_ms);
        else
            text_null(a, one, "started_ms");
    }
}

static void put_promises(struct arena *a, struct text_node *root,
                         const struct simulation_config *config, struct simulation *sim)
{
    const struct promises *promises = simulation_promises(sim);
    const struct promise_counts counts = promises_counts(promises);
    struct text_node *map = text_map(a, root, "promises");
    uint64_t late = 0;
    size_t n;
    const struct violation *violations = promises_violations(promises, &n);
    for (int i = BREAK_NONE + 1; i < BREAK_N; i++)
        late += counts.late[i];
    put(a, map, "made", counts.made);
    put(a, map, "kept", counts.kept);
    put(a, map, "late", late);
    struct text_node *why = text_map(a, map, "late_because");
    for (int i = BREAK_NONE + 1; i < BREAK_N; i++)
        put(a, why, promise_break_word((enum promise_break)i), counts.late[i]);
    put(a, root, "bound_violations", counts.late[BREAK_NONE]);
    put_violations(a, root, config->workload, violations, n, simulation_score(sim)->from_ms);
}

/* What explain said, and what came of it. */
static void put_explained(struct arena *a, struct text_node *root, struct simulation *sim)
{
    struct explain_check *e = simulation_explained(sim);
    if (!e)
        return;
    const struct explain_check_figures f = explain_check_figures(e);
    const struct explain_check_failure *wrong = explain_check_wrong(e);
    const uint64_t from_ms = simulation_score(sim)->from_ms;
    struct text_node *map = text_map(a, root, "explained");
    put(a, map, "asked", f.asked);
    put(a, map, "bounds", f.bounds);
    put(a, map, "bounds_beaten", f.beaten);
    put(a, map, "ahead_told", f.sets);
    put(a, map, "ahead_excused", f.excused);
    put(a, map, "ahead_wrong", f.wrong);
    put(a, map, "estimates", f.estimates);
    put(a, map, "estimates_learnt", f.learnt);
    struct text_node *limit = text_map(a, map, "error_by_limit");
    struct text_node *best = text_map(a, map, "error_by_learnt");
    text_real(a, limit, "p50", f.limit_p50);
    text_real(a, limit, "p90", f.limit_p90);
    text_real(a, best, "p50", f.best_p50);
    text_real(a, best, "p90", f.best_p90);
    if (!wrong)
        return;
    struct text_node *first = text_map(a, map, "first_wrong");
    text_str(a, first, "what", wrong->of_set ? "ahead" : "bound");
    put(a, first, "job", wrong->job);
    put(a, first, "asked_ms", wrong->asked_ms - from_ms);
    put(a, first, "told_ms", wrong->told_ms > from_ms ? wrong->told_ms - from_ms : 0);
    put(a, first, "started_ms", wrong->started_ms - from_ms);
}

static void put_counts(struct arena *a, struct text_node *root, struct simulation *sim)
{
    const struct score *t = simulation_score(sim);
    struct text_node *inputs = text_map(a, root, "inputs");
    put(a, inputs, "submissions", t->submitted);
    put(a, inputs, "starts", t->starts);
    put(a, inputs, "ends", t->ends);
    put(a, inputs, "node_changes", t->node_changes);
    put(a, inputs, "all", simulation_inputs(sim));
    put(a, root, "event_rows", t->rows);
    put(a, root, "makespan_ms", t->now_ms - t->from_ms);
}

static void put_series(struct arena *a, struct text_node *root, const struct score *t)
{
    struct text_node *series = text_map(a, root, "series");
    struct text_node *at = text_list(a, series, "at_ms"), *gpu = text_list(a, series, "gpu"),
                     *cpu = text_list(a, series, "cpu"), *waiting = text_list(a, series, "waiting"),
                     *running = text_list(a, series, "running"),
                     *fragmented = text_list(a, series, "fragmentation");
    for (size_t i = 0; i < t->series.n; i++) {
        const struct point *p = &t->series.at[i];
        put(a, at, NULL, p->at_ms - t->from_ms);
        put_share(a, gpu, NULL, (double)p->gpu_used, (double)p->gpu_all);
        put_share(a, cpu, NULL, (double)p->cpu_used, (double)p->cpu_all);
        put(a, waiting, NULL, p->waiting);
        put(a, running, NULL, p->running);
        put_share(a, fragmented, NULL, p->fragmented, 1e6);
    }
}

struct text_node *result_make(struct arena *a, const struct simulation_config *config,
                              struct simulation *sim)
{
    struct score *t = simulation_score(sim);
    struct text_node *root = text_map(a, NULL, NULL);
    const struct sim_refusal *refusal = simulation_refusal(sim);
    put(a, root, "muster_simulation", RESULT_VERSION);
    put_inputs(a, root, config);
    put_settings(a, root, &config->settings);
    put_jobs(a, root, t);
    if (refusal)
        text_str(a, root, "first_refusal", refusal->what);
    const struct words warnings = simulation_warnings(sim, a);
    struct text_node *list = warnings.n ? text_list(a, root, "warnings") : NULL;
    for (size_t i = 0; i < warnings.n; i++)
        text_str(a, list, NULL, warnings.at[i]);
    put_waits(a, root, t);
    put_figures(a, root, t);
    put_takings(a, root, t);
    put_promises(a, root, config, sim);
    put_explained(a, root, sim);
    put_counts(a, root, sim);
    put_series(a, root, t);
    return root;
}

struct text_node *result_read(struct arena *a, const char *file, const char *text, size_t len,
                              struct err *err)
{
    struct report report;
    report_init(&report, a);
    struct text_node *root = json_parse(a, text, len, 0, &report);
    const struct text_node *version = root ? text_get(root, "muster_simulation") : NULL;
    if (version && version->kind == TEXT_INT && version->integer == RESULT_VERSION)
        return root;
    err_set(err, ERR_INPUT, "%.120s is no result of a simulation", file);
    err_hint(err, "--json %.80s of the simulation writes one", file);
    return NULL;
}

bool result_number(const struct text_node *result, const char *path, double *out)
{
    const struct text_node *at = result;
    char key[64];
    while (at && *path) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)(n < 60 ? n : 60), path);
        at = text_get(at, key);
        path += n + (path[n] == '.');
    }
    if (!at || (at->kind != TEXT_INT && at->kind != TEXT_REAL))
        return false;
    *out = at->kind == TEXT_INT ? (double)at->integer : at->real;
    return true;
}
