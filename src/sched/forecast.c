/* The state between two passes is a snapshot of its own: lines of waiting jobs, what runs with the
 * time at which it is over, and a copy of the cluster that holds what runs. */
#include "sched/forecast.h"

#include "base/mem.h"
#include "base/vec.h"
#include "sched/pass.h"

#include <string.h>

#define NODES_A_UNIT 8u
#define LINE_UNITS   16u
#define NEVER        UINT64_MAX

struct runner {
    struct sched_running as;
    uint64_t over_ms;
};
struct forecasting {
    const struct forecast_ask *ask;
    struct arena *arena;
    struct forecast *out;
    struct cluster *cluster;
    struct sched_snapshot snapshot;
    uint64_t now_ms, step_ms; /* step: when strategies look at the clock again */
    bool changed;             /* by the last pass: a start, or the first promise to a job */
    VEC(struct sched_job) lines;
    VEC(struct runner) runs;
    VEC(uint64_t) started; /* before this moment */
    VEC(uint64_t) starting;
    VEC(uint64_t) ended; /* at this moment */
    struct sched_user *users;
};

uint64_t forecast_work(const struct sched_snapshot *s)
{
    return cluster_count(s->cluster) / NODES_A_UNIT + s->n_running +
           (uint64_t)LINE_UNITS * s->n_jobs;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > NEVER - b ? NEVER : a + b;
}

static void *copy_of(struct arena *arena, const void *at, size_t n, size_t size)
{
    void *copy = arena_array(arena, n, size);
    return n ? memcpy(copy, at, n * size) : copy;
}

/* ---- what runs ---- */

static uint64_t limit_of(const struct forecasting *f, const struct job_spec *spec)
{
    uint64_t usual = f->snapshot.run_ms ? f->snapshot.run_ms : RUN_MS_DEFAULT;
    return spec->limits.run_time_ms.has ? spec->limits.run_time_ms.value : usual;
}

/* What should be over and is not is taken for the next millisecond, as a pass does. */
static uint64_t over_at(const struct forecasting *f, const struct sched_running *r)
{
    uint64_t began = r->started_ms ? r->started_ms : f->now_ms;
    const struct forecast_run run = { .job = r->id,
                                      .spec = r->held.spec,
                                      .ran_ms = f->now_ms - began,
                                      .limit_ms = limit_of(f, r->held.spec) };
    uint64_t lasts = f->ask->lasts ? f->ask->lasts(f->ask->arg, &run) : run.limit_ms;
    uint64_t over = sum_of(began, lasts);
    if (r->leaving) {
        uint64_t gone = sum_of(f->now_ms, r->held.spec->limits.grace_ms);
        over = r->ends_ms && r->ends_ms < gone ? r->ends_ms : gone;
    }
    return over > f->now_ms ? over : f->now_ms + 1;
}

static void hold(struct forecasting *f, const struct runner *run, bool more)
{
    const struct forecast_usage *usage = &f->ask->usage;
    const struct held_places_sum sum = held_places_amounts(&run->as.held);
    const struct vector held = { .cpu_milli = sum.cpu_milli,
                                 .memory = sum.memory,
                                 .gpu_milli = sum.gpu_milli };
    if (usage->at && run->as.user < f->snapshot.n_users)
        usage->hold(usage->arg, run->as.user, &held, more, f->now_ms);
}

/* The plan it stands in is gone after the pass. */
static struct task_place *keep_places(struct forecasting *f, const struct plan_entry *e)
{
    struct task_place *kept = ARENA_ARRAY(f->arena, e->n_tasks, struct task_place);
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const struct task_place *from = &e->tasks[i];
        struct placed_port *ports = ARENA_ARRAY(f->arena, from->n_ports, struct placed_port);
        kept[i] = *from;
        kept[i].node = cluster_node(f->cluster, cluster_find(f->cluster, from->node)).spec->name;
        kept[i].address = "";
        kept[i].gpus = copy_of(f->arena, from->gpus, from->n_gpus, sizeof *from->gpus);
        kept[i].ports = ports;
        for (uint32_t k = 0; k < from->n_ports; k++) {
            ports[k] = from->ports[k];
            ports[k].numbers = copy_of(f->arena, from->ports[k].numbers, from->ports[k].count,
                                       sizeof *ports[k].numbers);
        }
    }
    return kept;
}

static struct runner *runner_of(struct forecasting *f, uint64_t job)
{
    for (size_t i = 0; i < f->runs.n; i++)
        if (f->runs.at[i].as.id == job)
            return &f->runs.at[i];
    return NULL;
}

/* ---- what waits ---- */

static bool stands_in(const struct sched_job *line, uint64_t job)
{
    for (size_t k = 0; k < line->n_alike; k++)
        if (line->alike[k] == job)
            return true;
    return line->id == job;
}

static struct sched_job *line_of(struct forecasting *f, uint64_t job)
{
    for (size_t i = 0; i < f->lines.n; i++)
        if (f->lines.at[i].id == job)
            return &f->lines.at[i];
    for (size_t i = 0; i < f->lines.n; i++)
        if (stands_in(&f->lines.at[i], job))
            return &f->lines.at[i];
    return NULL;
}

/* The next one of its line stands in its place. */
static void leave_line(struct forecasting *f, struct sched_job *line)
{
    if (line->n_alike == 0) {
        size_t at = (size_t)(line - f->lines.at);
        memmove(line, line + 1, (--f->lines.n - at) * sizeof *line);
        return;
    }
    line->id = line->alike[0];
    line->alike++;
    line->n_alike--;
    line->promised_ms = 0;
    line->claims = false;
}

/* It was ended for another one, and waits again with its old age. */
static void wait_again(struct forecasting *f, const struct runner *run)
{
    const struct sched_job line = {
        .id = run->as.id, .spec = run->as.held.spec, .queue = run->as.queue, .user = run->as.user
    };
    vec_push(&f->lines, line);
}

/* ---- a plan carried out ---- */

static bool admit(struct forecasting *f, const struct plan_entry *e)
{
    struct sched_job *line = line_of(f, e->job);
    if (!line)
        return false;
    const struct sched_job job = *line;
    uint64_t tasks = 0;
    for (size_t i = 0; i < job.spec->n_roles; i++)
        tasks += job.spec->roles[i].replicas;
    f->out->rough = f->out->rough || e->n_tasks < tasks;
    struct runner run = { .as = { .id = e->job,
                                  .held = held_places_of(job.spec, keep_places(f, e), e->n_tasks),
                                  .demand = vector_of_job(job.spec),
                                  .bid_milli = job.spec->spot_bid_milli,
                                  .queue = job.queue,
                                  .user = job.user,
                                  .started_ms = f->now_ms,
                                  .idle = e->idle,
                                  .preemptible = job.spec->preemptible,
                                  .priority = (uint8_t)job.spec->priority } };
    if (!held_places_take(f->cluster, &run.as.held))
        return false;
    if (job.spec->limits.run_time_ms.has)
        run.as.ends_ms = sum_of(f->now_ms, job.spec->limits.run_time_ms.value);
    held_places_locate(&run.as.held, f->cluster, f->arena);
    run.over_ms = over_at(f, &run.as);
    vec_push(&f->runs, run);
    hold(f, &run, true);
    leave_line(f, line);
    vec_push(&f->starting, e->job);
    f->changed = true;
    return true;
}

static void evict(struct forecasting *f, const struct plan_entry *e)
{
    struct runner *run = runner_of(f, e->job);
    struct sched_job *claimant = line_of(f, e->by);
    f->out->rough = true;
    if (!run)
        return;
    run->as.leaving = true;
    run->over_ms = over_at(f, &run->as);
    if (claimant && claimant->id == e->by)
        claimant->claims = true;
}

static void carry_out(struct forecasting *f, const struct plan *plan)
{
    f->changed = false;
    for (size_t i = 0; i < plan->n; i++) {
        const struct plan_entry *e = &plan->at[i];
        struct sched_job *line = e->kind == PLAN_RESERVE ? line_of(f, e->job) : NULL;
        if (e->kind == PLAN_ADMIT) {
            f->out->rough = !admit(f, e) || f->out->rough;
        } else if (e->kind == PLAN_EVICT) {
            evict(f, e);
        } else if (line && line->id == e->job && !line->promised_ms) {
            line->promised_ms = e->at_ms;
            f->changed = true;
        }
    }
}

static bool has_started(const struct forecasting *f)
{
    for (size_t i = 0; i < f->starting.n; i++)
        if (f->starting.at[i] == f->ask->job)
            return true;
    return false;
}

/* true: the job has started. */
static bool make_pass(struct forecasting *f)
{
    struct arena *scratch = arena_create();
    struct sched_snapshot *s = &f->snapshot;
    struct sched_running *running = ARENA_ARRAY(scratch, f->runs.n + 1, struct sched_running);
    const struct forecast_usage *usage = &f->ask->usage;
    for (size_t i = 0; i < f->runs.n; i++)
        running[i] = f->runs.at[i].as;
    for (size_t i = 0; usage->at && i < f->lines.n; i++)
        if (f->lines.at[i].user < s->n_users)
            f->users[f->lines.at[i].user].usage =
                usage->at(usage->arg, f->lines.at[i].user, f->now_ms);
    s->jobs = f->lines.at;
    s->n_jobs = f->lines.n;
    s->running = running;
    s->n_running = f->runs.n;
    f->out->spent += forecast_work(s);
    const struct plan plan = sched_plan(s, f->now_ms, scratch);
    carry_out(f, &plan);
    arena_destroy(scratch);
    return has_started(f);
}

/* ---- from moment to moment ---- */

static bool looks_at_clock(const struct forecasting *f)
{
    for (size_t i = 0; i < f->lines.n; i++) {
        uint32_t queue = f->lines.at[i].queue;
        enum queue_strategy strategy =
            queue < f->snapshot.n_queues ? f->snapshot.queues[queue].strategy : QUEUE_BACKFILL;
        if (strategy == QUEUE_BALANCE || strategy == QUEUE_INTELLIGENT)
            return true;
    }
    return false;
}

static uint64_t next_moment(struct forecasting *f)
{
    uint64_t next = NEVER;
    for (size_t i = 0; i < f->runs.n; i++)
        next = f->runs.at[i].over_ms < next ? f->runs.at[i].over_ms : next;
    for (size_t i = 0; i < f->lines.n; i++) {
        uint64_t at = f->lines.at[i].not_before_ms;
        next = at > f->now_ms && at < next ? at : next;
    }
    if (next != NEVER && looks_at_clock(f)) {
        f->out->rough = true;
        next = f->now_ms + QUOTA_STEP_MS < next ? f->now_ms + QUOTA_STEP_MS : next;
    }
    return next;
}

static void go_to(struct forecasting *f, uint64_t at_ms)
{
    size_t kept = 0;
    f->now_ms = at_ms;
    vec_clear(&f->ended);
    for (size_t i = 0; i < f->starting.n; i++)
        vec_push(&f->started, f->starting.at[i]);
    vec_clear(&f->starting);
    for (size_t i = 0; i < f->runs.n; i++) {
        const struct runner run = f->runs.at[i];
        if (run.over_ms > at_ms) {
            f->runs.at[kept++] = run;
            continue;
        }
        vec_push(&f->ended, run.as.id);
        f->out->rough = f->out->rough || !run.as.held.spec->limits.run_time_ms.has;
        held_places_give(f->cluster, &run.as.held);
        hold(f, &run, false);
        if (run.as.leaving && !run.as.bid_milli)
            wait_again(f, &run);
    }
    f->runs.n = kept;
}

static void begin(struct forecasting *f)
{
    const struct sched_snapshot *s = f->ask->snapshot;
    f->snapshot = *s;
    f->now_ms = f->ask->now_ms;
    f->cluster = cluster_clone(s->cluster);
    f->snapshot.cluster = f->cluster;
    f->snapshot.more = NULL; /* their growth is not followed */
    f->snapshot.n_more = 0;
    f->out->rough = s->n_more > 0;
    f->users = copy_of(f->arena, s->users, s->n_users, sizeof *s->users);
    f->snapshot.users = f->users;
    for (size_t i = 0; i < s->n_jobs; i++)
        vec_push(&f->lines, s->jobs[i]);
    for (size_t i = 0; i < s->n_running; i++) {
        struct runner run = { .as = s->running[i] };
        held_places_locate(&run.as.held, f->cluster, f->arena);
        run.over_ms = over_at(f, &run.as);
        f->out->rough = f->out->rough || run.as.leaving;
        vec_push(&f->runs, run);
    }
}

static void run_on(struct forecasting *f)
{
    uint64_t next = f->now_ms;
    bool found = false;
    while (!found && next != NEVER && f->out->spent < f->ask->work) {
        go_to(f, next);
        do
            found = make_pass(f);
        while (!found && f->changed); /* the server looks again, too */
        next = next_moment(f);
    }
    f->out->found = found;
    f->out->at_ms = f->now_ms;
    f->out->n_ended = f->ended.n;
    f->out->ended = copy_of(f->arena, f->ended.at, f->ended.n, sizeof *f->ended.at);
    f->out->n_ahead = f->started.n;
    f->out->ahead = copy_of(f->arena, f->started.at, f->started.n, sizeof *f->started.at);
}

bool sched_forecast(const struct forecast_ask *ask, struct arena *arena, struct forecast *out)
{
    struct forecasting f = { .ask = ask, .arena = arena, .out = out };
    *out = (struct forecast){ .found = false };
    begin(&f);
    bool waits = line_of(&f, ask->job) != NULL;
    if (waits)
        run_on(&f);
    cluster_destroy(f.cluster);
    vec_fini(&f.lines);
    vec_fini(&f.runs);
    vec_fini(&f.started);
    vec_fini(&f.starting);
    vec_fini(&f.ended);
    return waits;
}
