/* The driver. Three things come to the core: submissions of the workload, facts of the engine, and
 * the time it asked to be woken at. The clock goes to the earliest of them, all that is due at that
 * moment is told, then the core takes its turn; until nothing is left.
 *
 * A turn commits (to records in memory), answers, acts and plans as in a server; what the engine
 * makes of its calls is due at the same moment or later, so a moment may take several turns. */
#include "sim/simulation.h"

#include "answer/cluster_views.h"
#include "base/dice.h"
#include "base/map.h"
#include "base/mem.h"
#include "engine/sim/sim.h"
#include "sim/promises.h"

#include <stdio.h>
#include <string.h>

#define BEGIN_MS       1000000000000ull /* of the clock: a fixed moment, so that job ids repeat */
#define DAY_MS         86400000ull
#define QUIET_MS       (7ull * 24 * 3600 * 1000) /* nothing happens for so long: nothing will */
#define TOLD_APART     1024u                     /* inputs between two words of progress */
#define EXPLAINED_LAST 64u                       /* jobs that are asked of when the last one came */
#define DIRECTORY      "/nowhere"                /* no launch has one */

/* ---- the simulation ---- */

struct change { /* of a node */
    uint64_t at_ms;
    const char *node;
    bool up;
};
struct record { /* of a job: of an arrival, or of a member of its array */
    uint32_t arrival, member;
    bool waiting, begun, running;
    uint64_t counted_ms; /* since it last began: it is counted to be gone by then */
};
struct array_arrival { /* an array whose members are not all there */
    uint64_t array;
    uint32_t arrival, left;
};
struct size { /* of a pattern's jobs */
    enum size_class size;
    enum gpu_class gpus;
};
struct simulation {
    struct simulation_config config;
    struct store *store;
    struct engine *engine;
    struct ctl *ctl;
    struct cluster_usage *usage;
    struct score score;
    struct record *records;
    size_t n_records;
    struct size *sizes;  /* of patterns */
    struct map *jobs;    /* ids to positions + 1 */
    struct map *evicted; /* jobs that give way: ids to rows of the score + 1 */
    struct promises *promises;
    struct explain_check *explained; /* NULL: nobody asks */
    struct explain_check_changes so_far;
    VEC(uint64_t) to_explain; /* jobs that came in this moment */
    bool asked_last;          /* of all that waited when the last job came */
    size_t next;              /* arrival */
    size_t submitting;        /* the one that is being told, + 1 */
    VEC(struct array_arrival) coming;
    VEC(struct change) changes; /* by time */
    size_t next_change;
    uint64_t now, wake, active; /* active: when something last happened */
    uint64_t told;
    struct sim_refusal refusal;
    char refused[512];
};

/* ---- what the core and the engine say ---- */

static uint64_t now(void *arg)
{
    return ((struct simulation *)arg)->now;
}

static void wake(void *arg, uint64_t at_ms)
{
    ((struct simulation *)arg)->wake = at_ms;
}

/* What was so until now is counted before it changes; waking up for nothing counts nothing. */
static void happens(struct simulation *sim)
{
    score_time(&sim->score, sim->now);
    sim->active = sim->now;
}

static struct record *record_of(const struct simulation *sim, uint64_t job)
{
    uintptr_t at = (uintptr_t)map_get(sim->jobs, job);
    return at ? &sim->records[at - 1] : NULL;
}

static void set_waiting(struct simulation *sim, struct record *record, bool waiting)
{
    sim->score.waiting += (uint64_t)waiting - (uint64_t)record->waiting;
    record->waiting = waiting;
}

static void set_running(struct simulation *sim, struct record *record, bool running)
{
    sim->score.running += (uint64_t)running - (uint64_t)record->running;
    record->running = running;
}

static uint32_t members(const struct simulation *sim, size_t arrival)
{
    const struct workload *w = sim->config.workload;
    return w->patterns[w->arrivals[arrival].pattern].spec->array.count;
}

static uint32_t jobs_of(const struct simulation *sim, size_t arrival)
{
    uint32_t n = members(sim, arrival);
    return n ? n : 1;
}

static void add_record(struct simulation *sim, uint64_t job, uint32_t arrival, uint32_t member)
{
    sim->records[sim->n_records++] = (struct record){ .arrival = arrival, .member = member };
    map_set(sim->jobs, job, (void *)(uintptr_t)sim->n_records);
    sim->so_far.came++;
    if (sim->explained && sim->n_records % sim->config.explain_every == 0)
        vec_push(&sim->to_explain, job);
}

/* Members come after their array, and their ids follow its own. */
static void add_member(struct simulation *sim, uint64_t job)
{
    for (size_t i = 0; i < sim->coming.n; i++) {
        struct array_arrival *of = &sim->coming.at[i];
        if (job <= of->array || job - of->array > members(sim, of->arrival))
            continue;
        add_record(sim, job, of->arrival, (uint32_t)(job - of->array));
        if (--of->left == 0)
            vec_remove(&sim->coming, i);
        return;
    }
}

/* An array has no record: it is none of the jobs that run. */
static void begin_record(struct simulation *sim, uint64_t job)
{
    uint32_t arrival = (uint32_t)(sim->submitting - 1);
    if (!sim->submitting)
        add_member(sim, job);
    else if (members(sim, arrival))
        vec_push(&sim->coming,
                 ((struct array_arrival){
                     .array = job, .arrival = arrival, .left = members(sim, arrival) }));
    else
        add_record(sim, job, arrival, 0);
}

static void on_job_event(struct simulation *sim, const struct event_row *row, enum job_event event)
{
    if (event == JOB_EV_SUBMITTED || event == JOB_EV_HELD)
        begin_record(sim, row->job);
    if (event == JOB_EV_REQUEUED || event == JOB_EV_SUCCEED || event == JOB_EV_FAIL ||
        event == JOB_EV_STOP) {
        promises_gone(sim->promises, row->job);
        map_remove(sim->evicted, row->job);
    }
    struct record *record = record_of(sim, row->job);
    if (!record)
        return;
    switch (event) {
    case JOB_EV_SUBMITTED:
    case JOB_EV_RESUMED:
    case JOB_EV_REQUEUED:
        set_running(sim, record, false);
        set_waiting(sim, record, true);
        break;
    case JOB_EV_ALLOCATED:
        set_waiting(sim, record, false);
        set_running(sim, record, true);
        break;
    case JOB_EV_SUCCEED:
    case JOB_EV_FAIL:
    case JOB_EV_STOP:
        set_waiting(sim, record, false);
        set_running(sim, record, false);
        sim->score.succeeded += event == JOB_EV_SUCCEED;
        sim->score.failed += event == JOB_EV_FAIL;
        sim->score.stopped += event == JOB_EV_STOP;
        map_remove(sim->jobs, row->job);
        break;
    default: break;
    }
}

static void on_event(void *arg, const struct event_row *row)
{
    struct simulation *sim = arg;
    happens(sim);
    sim->score.rows++;
    enum job_event event = row->has_task ? JOB_EV_NONE : job_event_parse(row->type);
    if (event != JOB_EV_NONE)
        on_job_event(sim, row, event);
}

/* ---- what is planned ---- */

static const struct job_spec *spec_of(const struct simulation *sim, uint64_t job)
{
    const struct record *record = record_of(sim, job);
    const struct workload *w = sim->config.workload;
    return record ? w->patterns[w->arrivals[record->arrival].pattern].spec : NULL;
}

static const char *queue_of(const struct job_spec *spec)
{
    return spec && spec->queue && *spec->queue ? spec->queue : "default";
}

static uint64_t lasts(const struct simulation *sim, const struct job_spec *spec)
{
    if (spec && spec->limits.run_time_ms.has)
        return spec->limits.run_time_ms.value;
    return sim->config.world.run_ms ? sim->config.world.run_ms : DAY_MS;
}

/* A whole job gives way. What it loses is counted when its attempts are over. */
static void on_evict(struct simulation *sim, const struct plan_entry *entry)
{
    const char *from = queue_of(spec_of(sim, entry->job));
    const char *to = entry->by ? queue_of(spec_of(sim, entry->by)) : "";
    size_t at = score_evicted(&sim->score, from, to);
    map_set(sim->evicted, entry->job, (void *)(uintptr_t)(at + 1));
}

static void count_start(struct simulation *sim, const struct plan_entry *entry)
{
    struct record *record = record_of(sim, entry->job);
    if (!record)
        return;
    record->counted_ms = sim->now + lasts(sim, spec_of(sim, entry->job));
    if (sim->explained)
        explain_check_start(sim->explained, entry->job, sim->now,
                            sim->config.workload->arrivals[record->arrival].run_ms, &sim->so_far);
}

static void on_planned(void *arg, const struct plan_entry *entry)
{
    struct simulation *sim = arg;
    const struct record *record;
    happens(sim);
    switch (entry->kind) {
    case PLAN_ADMIT:
        count_start(sim, entry);
        promises_start(sim->promises, entry, lasts(sim, spec_of(sim, entry->job)));
        break;
    case PLAN_MORE: promises_more(sim->promises, entry); break;
    case PLAN_RESERVE:
        record = record_of(sim, entry->job);
        promises_reserve(sim->promises, entry, record ? record->arrival + 1u : 0);
        break;
    case PLAN_EVICT: on_evict(sim, entry); break;
    case PLAN_WAIT: break;
    }
}

static uint64_t mixed(uint64_t x)
{
    return dice_roll(&(struct dice){ x });
}

/* Drawn from what the attempt is, not from how many were drawn before: another policy meets the
 * same failures. */
static void draw_failure(const struct simulation *sim, const struct record *record,
                         const struct launch_task *task, struct sim_run *run)
{
    uint64_t x =
        mixed(sim->config.settings.seed ^ mixed(record->arrival | (uint64_t)record->member << 32));
    x = mixed(x ^ mixed(((uint64_t)task->ref.role << 32) | task->ref.index));
    x = mixed(x ^ task->attempt);
    if (x % 1000000 >= sim->config.workload->fail_ppm)
        return;
    run->code = 1;
    run->run_ms = run->run_ms ? mixed(x) % run->run_ms : 0;
}

static struct sim_run on_run(void *arg, const struct launch *launch, const struct launch_task *task)
{
    struct simulation *sim = arg;
    const struct sim_settings *settings = &sim->config.settings;
    struct record *record = record_of(sim, launch->generation.job);
    struct sim_run run = { .start_ms = settings->policy[POLICY_START],
                           .stop_ms = settings->policy[POLICY_STOP] };
    const struct ask ask = { .cpu_milli = task->cpu_milli,
                             .memory = task->memory,
                             .gpu_milli = task->gpu_milli };
    happens(sim);
    run.held = cluster_usage_take(sim->usage, launch->node, &ask, task->gpus, task->n_gpus);
    if (!record)
        return run;
    const struct arrival *arrival = &sim->config.workload->arrivals[record->arrival];
    run.run_ms = arrival->run_ms;
    run.code = arrival->code;
    if (sim->config.workload->fail_ppm)
        draw_failure(sim, record, task, &run);
    const struct size *size = &sim->sizes[arrival->pattern];
    if (!record->begun)
        score_wait(&sim->score, size->size, size->gpus, sim->now - (BEGIN_MS + arrival->at_ms));
    record->begun = true;
    return run;
}

/* An attempt of it is over: when it was counted to be, or at another time? */
static void count_end(struct simulation *sim, uint64_t job)
{
    const struct record *record = record_of(sim, job);
    sim->so_far.early += record && sim->now < record->counted_ms;
    sim->so_far.late += record && record->counted_ms && sim->now > record->counted_ms;
}

static void on_over(void *arg, const struct engine_fact *fact, const struct sim_run *run,
                    uint64_t started_ms)
{
    struct simulation *sim = arg;
    happens(sim);
    sim->score.starts += started_ms > 0;
    sim->score.ends++;
    count_end(sim, fact->generation.job);
    if (!run->held)
        return;
    if (started_ms && (fact->ending.by != BY_ITSELF || fact->ending.lost))
        score_lost(&sim->score, run->held, fact->at_ms - started_ms,
                   (uintptr_t)map_get(sim->evicted, fact->generation.job));
    cluster_usage_give(sim->usage, run->held);
}

static void on_answer(void *arg, const struct ctl_answer *answer)
{
    struct simulation *sim = arg;
    if (!answer->err)
        return;
    if (sim->refusal.jobs++ > 0)
        return;
    sim->refusal.what = sim->refused;
    snprintf(sim->refused, sizeof sim->refused, "%s%s%s", answer->err->what,
             *answer->err->hint ? "; " : "", answer->err->hint);
}

/* ---- making it ---- */

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at_ms != y->at_ms)
        return x->at_ms > y->at_ms ? 1 : -1;
    int order = strcmp(x->node, y->node);
    return order ? order : (int)x->up - (int)y->up;
}

static void make_changes(struct simulation *sim)
{
    const struct workload *w = sim->config.workload;
    for (size_t i = 0; i < w->n_outages; i++) {
        const struct outage *out = &w->outages[i];
        vec_push(&sim->changes, ((struct change){ .at_ms = out->at_ms, .node = out->node }));
        if (out->back_ms)
            vec_push(&sim->changes,
                     ((struct change){ .at_ms = out->back_ms, .node = out->node, .up = true }));
    }
    if (sim->changes.n)
        qsort(sim->changes.at, sim->changes.n, sizeof *sim->changes.at, by_time);
}

static void make_books(struct simulation *sim)
{
    const struct workload *w = sim->config.workload;
    VEC(struct ask) asks = { 0 };
    sim->sizes = mem_new((w->n_patterns ? w->n_patterns : 1) * sizeof *sim->sizes);
    for (size_t i = 0; i < w->n_patterns; i++) {
        const struct job_spec *spec = w->patterns[i].spec;
        sim->sizes[i] = (struct size){ size_class_of(spec), gpu_class_of(spec) };
        for (size_t k = 0; k < spec->n_roles; k++) {
            const struct resources *r = &spec->roles[k].resources;
            vec_push(&asks,
                     ((struct ask){ .cpu_milli = r->cpu_milli,
                                    .memory = r->memory,
                                    .gpu_milli = r->gpu_milli,
                                    .types = r->gpu_types,
                                    .weight = w->patterns[i].jobs * spec->roles[k].replicas }));
        }
    }
    sim->usage = cluster_usage_create(sim->config.nodes, sim->config.n_nodes, asks.at, asks.n);
    vec_fini(&asks);
    size_t jobs = 1;
    for (size_t i = 0; i < w->n_arrivals; i++)
        jobs += jobs_of(sim, i);
    sim->records = mem_new(jobs * sizeof *sim->records);
}

static int make_core(struct simulation *sim, struct err *err)
{
    const struct world *world = &sim->config.world;
    struct sim_watch watch = { .run = on_run, .over = on_over, .arg = sim };
    sim->store = store_open_memory((struct store_tap){ .event = on_event, .arg = sim }, err);
    if (!sim->store)
        return -1;
    sim->engine = sim_create(&watch, sim->now);
    struct ctl_config config = { .store = sim->store,
                                 .engine = sim->engine,
                                 .dialects = sim->config.dialects,
                                 .runs_dir = DIRECTORY,
                                 .fs_uri = "file:" DIRECTORY,
                                 .queues = &world->queues,
                                 .declared = world->declared,
                                 .n_declared = world->n_declared,
                                 .topology = &world->topology,
                                 .prices = &world->prices,
                                 .run_ms = world->run_ms,
                                 .half_life_ms = world->half_life_ms,
                                 .nodes = sim->config.nodes,
                                 .n_nodes = sim->config.n_nodes,
                                 .now = now,
                                 .now_arg = sim,
                                 .wake = wake,
                                 .wake_arg = sim };
    sim->ctl = ctl_create(&config, err);
    if (sim->ctl)
        ctl_set_watch(sim->ctl, (struct ctl_watch){ .planned = on_planned, .arg = sim });
    return sim->ctl ? ctl_recover(sim->ctl, err) : -1;
}

struct simulation *simulation_create(const struct simulation_config *config, struct err *err)
{
    struct simulation *sim = mem_new(sizeof *sim);
    sim->config = *config;
    sim->now = sim->active = BEGIN_MS;
    sim->jobs = map_create();
    sim->evicted = map_create();
    sim->promises = promises_create(sim->now);
    sim->explained = config->explain_every ? explain_check_create() : NULL;
    make_changes(sim);
    make_books(sim);
    score_init(&sim->score, sim->usage, sim->now);
    if (make_core(sim, err)) {
        simulation_destroy(sim);
        return NULL;
    }
    return sim;
}

void simulation_destroy(struct simulation *sim)
{
    if (!sim)
        return;
    ctl_destroy(sim->ctl);
    if (sim->engine)
        sim->engine->ops->destroy(sim->engine);
    store_close(sim->store);
    score_fini(&sim->score);
    cluster_usage_destroy(sim->usage);
    map_destroy(sim->jobs);
    map_destroy(sim->evicted);
    promises_destroy(sim->promises);
    explain_check_destroy(sim->explained);
    vec_fini(&sim->to_explain);
    vec_fini(&sim->changes);
    vec_fini(&sim->coming);
    free(sim->records);
    free(sim->sizes);
    free(sim);
}

/* ---- running it ---- */

static bool over(const struct simulation *sim)
{
    return sim->next == sim->config.workload->n_arrivals && sim->next_change == sim->changes.n &&
           sim_next(sim->engine) == UINT64_MAX;
}

/* When the next thing is due; UINT64_MAX: never. Timers alone may still start a job (a back-off, a
 * limit), but not for ever. */
static uint64_t due(const struct simulation *sim)
{
    const struct workload *w = sim->config.workload;
    uint64_t at = sim_next(sim->engine), idle;
    if (sim->next < w->n_arrivals && BEGIN_MS + w->arrivals[sim->next].at_ms < at)
        at = BEGIN_MS + w->arrivals[sim->next].at_ms;
    if (sim->next_change < sim->changes.n &&
        BEGIN_MS + sim->changes.at[sim->next_change].at_ms < at)
        at = BEGIN_MS + sim->changes.at[sim->next_change].at_ms;
    if (!sim->wake ||
        (over(sim) && (ctl_idle_since(sim->ctl, &idle) || sim->wake > sim->active + QUIET_MS)))
        return at;
    return sim->wake < at ? sim->wake : at;
}

static void submit(struct simulation *sim)
{
    const struct workload *w = sim->config.workload;
    const struct arrival *arrival = &w->arrivals[sim->next];
    const struct pattern *pattern = &w->patterns[arrival->pattern];
    const struct submission ask = {
        .owner = arrival->owner, .text = pattern->text, .len = pattern->len, .from = pattern->from
    };
    happens(sim);
    sim->submitting = ++sim->next;
    sim->score.submitted += jobs_of(sim, sim->next - 1);
    ctl_submit(sim->ctl, &ask, on_answer, sim);
    sim->submitting = 0;
}

static void change_nodes(struct simulation *sim)
{
    while (sim->next_change < sim->changes.n &&
           BEGIN_MS + sim->changes.at[sim->next_change].at_ms <= sim->now) {
        const struct change *change = &sim->changes.at[sim->next_change++];
        happens(sim);
        sim_node(sim->engine, change->node, change->up);
        sim_advance(sim->engine, sim->now); /* what ran there is over before the node is gone */
        cluster_usage_set_up(sim->usage, change->node, change->up);
        if (!change->up)
            promises_node_lost(sim->promises);
        sim->so_far.nodes_came += change->up;
        sim->so_far.nodes_went += !change->up;
        sim->score.node_changes++;
    }
}

static void ask_one(struct simulation *sim, uint64_t job, bool first)
{
    struct arena *arena = arena_create();
    struct start_estimate told;
    if (explain_start(sim->ctl, arena, job, &told))
        explain_check_ask(sim->explained, &told, sim->now, &sim->so_far, first);
    arena_destroy(arena);
}

/* At the end of a moment, when nothing of it is open. */
static void ask_explain(struct simulation *sim)
{
    for (size_t i = 0; i < sim->to_explain.n; i++)
        ask_one(sim, sim->to_explain.at[i], true);
    vec_clear(&sim->to_explain);
    if (sim->asked_last || sim->next < sim->config.workload->n_arrivals)
        return;
    sim->asked_last = true;
    size_t cursor = 0, asked = 0;
    uint64_t job;
    void *at;
    while (map_next(sim->jobs, &cursor, &job, &at) && asked < EXPLAINED_LAST) {
        const struct record *record = &sim->records[(uintptr_t)at - 1];
        if (!record->waiting)
            continue;
        ask_one(sim, job, false);
        asked++;
    }
}

static void tell_progress(struct simulation *sim)
{
    uint64_t inputs = simulation_inputs(sim);
    if (!sim->config.progress || inputs < sim->told + TOLD_APART)
        return;
    sim->told = inputs;
    sim->config.progress(sim->config.progress_arg, inputs, sim->next);
}

static void moment(struct simulation *sim, uint64_t at_ms)
{
    const struct workload *w = sim->config.workload;
    if (at_ms > sim->now && sim->explained)
        ask_explain(sim);
    sim->now = at_ms > sim->now ? at_ms : sim->now;
    promises_time(sim->promises, sim->now);
    sim_advance(sim->engine, sim->now);
    change_nodes(sim);
    while (sim->next < w->n_arrivals && BEGIN_MS + w->arrivals[sim->next].at_ms <= sim->now)
        submit(sim);
    sim->score.arriving = sim->next < w->n_arrivals;
    if (sim->wake && sim->wake <= sim->now) {
        sim->wake = 0;
        ctl_tick(sim->ctl);
    } else {
        ctl_turn(sim->ctl);
    }
    tell_progress(sim);
}

void simulation_run(struct simulation *sim)
{
    uint64_t at;
    while ((at = due(sim)) != UINT64_MAX)
        moment(sim, at);
    sim->score.refused = sim->score.submitted - sim->n_records;
    score_end(&sim->score);
}

struct score *simulation_score(struct simulation *sim)
{
    return &sim->score;
}

struct words simulation_warnings(struct simulation *sim, struct arena *arena)
{
    struct queues_view queues = { 0 };
    struct err err;
    answer_queues_view(sim->ctl, arena, NULL, NULL, &queues, &err);
    return queues.warnings;
}

const struct promises *simulation_promises(const struct simulation *sim)
{
    return sim->promises;
}

struct explain_check *simulation_explained(const struct simulation *sim)
{
    return sim->explained;
}

uint64_t simulation_inputs(const struct simulation *sim)
{
    const struct score *t = &sim->score;
    return t->submitted + t->starts + t->ends + t->node_changes;
}

const struct sim_refusal *simulation_refusal(const struct simulation *sim)
{
    return sim->refusal.jobs ? &sim->refusal : NULL;
}
