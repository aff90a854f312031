/* Makes the snapshot of a pass from live jobs, lines, queues and the cluster; and, for explaining,
 * a copy that lacks some jobs or has another one. */
#include "ctl/snapshot.h"

#include "base/mem.h"
#include "ctl/bundle.h"
#include "ctl/core.h"
#include "ctl/lines.h"

#include <stdio.h>
#include <string.h>

#define BUNDLES_MAX 256 /* looked at in one pass */

struct making {
    struct ctl *ctl;
    struct arena *arena;
    struct sched_snapshot *out;
    struct sched_job *jobs;
    const char *bundles[BUNDLES_MAX];
    size_t n_bundles;
    bool quiet; /* nothing may change */
};

static struct sched_job *add_job(struct making *m, struct live_job *job)
{
    struct sched_job *one = &m->jobs[m->out->n_jobs++];
    *one = (struct sched_job){ .id = job->row.id,
                               .spec = job->spec,
                               .promised_ms = job->notes.promised_ms,
                               .claims = job->notes.claims };
    queues_locate(m->ctl, job);
    one->queue = job->queue_at;
    one->user = job->user_at;
    return one;
}

/* ---- those that stand aside ---- */

enum turn_of { LOOK_AT, PASS_BY, LEFT };

static enum turn_of waits_for_time(struct ctl *ctl, struct live_job *job)
{
    if (job->row.not_before_ms <= core_now(ctl))
        return LOOK_AT;
    core_wake(ctl, job->row.not_before_ms);
    job->why = (struct live_why){ .why = WAIT_TIME };
    return PASS_BY;
}

/* A job whose row cannot be read ends here. */
static enum turn_of turn_of(struct ctl *ctl, struct live_job *job)
{
    if (core_spec(ctl, job))
        return waits_for_time(ctl, job);
    settle_end(ctl, job, JOB_EV_FAIL, "its record cannot be read");
    return LEFT;
}

/* Of the jobs with this key: its number; 0: there are too many bundles for one pass. */
static uint64_t bundle_number(struct making *m, const char *key)
{
    size_t i = 0;
    while (i < m->n_bundles && strcmp(m->bundles[i], key) != 0)
        i++;
    if (i == BUNDLES_MAX)
        return 0;
    if (i == m->n_bundles)
        m->bundles[m->n_bundles++] = key;
    return i + 1;
}

/* The others that it starts with are all there: it is a job of the pass by itself. */
static void join_bundle(struct making *m, struct live_job *job, const char *key)
{
    struct draft why;
    uint32_t size = bundle_ready(m->ctl, job, key, &why);
    uint64_t number = size ? bundle_number(m, key) : 0;
    if (!size && !m->quiet) {
        job->why = (struct live_why){ .why = WAIT_AFTER };
        const struct sentence said = draft_said(&why);
        live_set_sentence(job, &said);
    }
    if (!number)
        return;
    struct sched_job *one = add_job(m, job);
    one->bundle = number;
    one->bundle_size = size;
}

static void look_aside(struct making *m)
{
    struct lines *lines = live_lines(m->ctl->live);
    for (size_t i = lines_aside(lines); i-- > 0;) {
        struct live_job *job = lines_aside_at(lines, i);
        if (turn_of(m->ctl, job) != LOOK_AT)
            continue;
        if (job->notes.has_peers && job->row.generation == 0)
            continue; /* when all that are there are known */
        lines_leave(lines, job);
        job->notes.shape = want_shape(job->spec);
        lines_join(lines, job);
    }
}

static void look_at_bundles(struct making *m)
{
    struct lines *lines = live_lines(m->ctl->live);
    for (size_t i = 0; i < lines_aside(lines); i++) {
        struct live_job *job = lines_aside_at(lines, i);
        bool held = !job->notes.has_peers || job->row.generation > 0 || !job->spec ||
                    job->row.not_before_ms > core_now(m->ctl);
        const char *key = held ? NULL : bundle_key(m->arena, job->spec);
        if (key)
            join_bundle(m, job, key);
    }
}

/* ---- the parts ---- */

/* NULL: its record cannot be read. */
static struct live_job *first_of(struct ctl *ctl, struct line *line)
{
    struct live_job *job = line->first;
    if (!job)
        job = line->first = live_find(ctl->live, line_first_id(line));
    return core_spec(ctl, job) ? job : NULL;
}

/* Its first are ended until one can be read. false: none could. */
static bool readable(struct making *m, struct line *line)
{
    size_t jobs = line_jobs(line);
    while (!first_of(m->ctl, line)) {
        if (m->quiet)
            return false;
        settle_end(m->ctl, line->first, JOB_EV_FAIL, "its record cannot be read");
        if (--jobs == 0)
            return false;
    }
    return true;
}

static void add_lines(struct making *m)
{
    struct line *line = lines_first(live_lines(m->ctl->live));
    while (line) {
        struct line *next = line->next;
        if (readable(m, line)) {
            struct sched_job *one = add_job(m, line->first);
            one->alike = line->ids.at + line->head + 1;
            one->n_alike = line_jobs(line) - 1;
        }
        line = next;
    }
}

/* All its tasks are over, only its agents are not gone yet: its share is free, as its places are.
 */
static bool has_left(const struct live_job *job)
{
    return live_closing(job) && live_taken(job) == 0;
}

void snapshot_note(struct ctl *ctl, struct live_job *job)
{
    if (!job->active || !job->spec || !job->tasks)
        return;
    struct sched_running *one = &live_running(ctl->live)[job->active - 1];
    *one = (struct sched_running){ .id = job->row.id,
                                   .held = { .spec = job->spec,
                                             .first = &job->tasks->place,
                                             .taken = &job->tasks->taken,
                                             .stride = sizeof *job->tasks,
                                             .n = job->row.tasks },
                                   .demand = has_left(job) ? (struct vector){ 0 }
                                                           : vector_of_job(job->spec),
                                   .bid_milli = job->spec->spot_bid_milli,
                                   .started_ms = job->notes.began_ms,
                                   .leaving = live_closing(job),
                                   .idle = job->notes.idle,
                                   .preemptible = job->spec->preemptible,
                                   .priority = (uint8_t)job->spec->priority };
    queues_locate(ctl, job);
    one->queue = job->queue_at;
    one->user = job->user_at;
    if (job->spec->limits.run_time_ms.has)
        one->ends_ms = (one->started_ms ? one->started_ms : core_now(ctl)) +
                       job->spec->limits.run_time_ms.value;
}

/* After a declaration of queues everybody may be elsewhere. */
static void add_running(struct making *m)
{
    struct live *live = m->ctl->live;
    bool moved = m->ctl->noted != queues_version(m->ctl);
    for (size_t i = 0; moved && i < live_active(live); i++)
        snapshot_note(m->ctl, live_active_at(live, i));
    m->ctl->noted = queues_version(m->ctl);
    m->out->running = live_running(live);
    m->out->n_running = live_active(live);
}

static void add_more(struct making *m)
{
    struct ctl *ctl = m->ctl;
    struct sched_more *all = ARENA_ARRAY(m->arena, ctl->wanting.n, struct sched_more);
    size_t kept = 0;
    for (size_t i = 0; i < ctl->wanting.n; i++) {
        struct live_job *job = live_find(ctl->live, ctl->wanting.at[i]);
        if (!job)
            continue;
        job->wanting = job->wants_place > 0;
        if (job->wanting)
            ctl->wanting.at[kept++] = job->row.id;
        m->out->n_more += planning_left(ctl, m->arena, job, &all[m->out->n_more]);
    }
    ctl->wanting.n = kept;
    m->out->more = all;
}

static void make(struct making *m)
{
    struct ctl *ctl = m->ctl;
    struct sched_snapshot *out = m->out;
    struct lines *lines = live_lines(ctl->live);
    m->jobs = ARENA_ARRAY(m->arena, lines_count(lines) + lines_aside(lines), struct sched_job);
    look_at_bundles(m);
    add_lines(m);
    add_running(m);
    add_more(m);
    out->cluster = ctl->cluster;
    out->jobs = m->jobs;
    out->queues = queues_specs(ctl, &out->n_queues);
    out->users = queues_users(ctl, m->arena, out);
    out->n_users = queues_user_count(ctl);
    out->run_ms = ctl->config.run_ms;
}

/* In some queues waiting itself changes whose turn it is. */
static void wake_for_steps(struct ctl *ctl, const struct sched_snapshot *s)
{
    for (size_t i = 0; i < s->n_jobs; i++) {
        enum queue_strategy strategy = s->queues[s->jobs[i].queue].strategy;
        if (strategy != QUEUE_BALANCE && strategy != QUEUE_INTELLIGENT)
            continue;
        uint64_t at = core_now(ctl) + QUOTA_STEP_MS;
        ctl->replan_at = !ctl->replan_at || at < ctl->replan_at ? at : ctl->replan_at;
        core_wake(ctl, ctl->replan_at);
        return;
    }
}

void snapshot_make(struct ctl *ctl, struct arena *arena, struct sched_snapshot *out)
{
    struct making m = { .ctl = ctl, .arena = arena, .out = out };
    look_aside(&m);
    make(&m);
    wake_for_steps(ctl, out);
}

/* ---- to ask ---- */

void snapshot_look(struct ctl *ctl, struct arena *arena, struct sched_snapshot *out)
{
    struct making m = { .ctl = ctl, .arena = arena, .out = out, .quiet = true };
    *out = (struct sched_snapshot){ .depth = 0 };
    make(&m);
}

/* The ids are its line's own: they are not to be changed. */
static void drop_from(struct arena *arena, struct sched_job *line, uint64_t job)
{
    uint64_t *rest = ARENA_ARRAY(arena, line->n_alike, uint64_t);
    size_t n = 0;
    if (line->id != job) {
        for (size_t k = 0; k < line->n_alike; k++)
            if (line->alike[k] != job)
                rest[n++] = line->alike[k];
        line->alike = rest;
        line->n_alike = n;
        return;
    }
    line->id = line->alike[0];
    line->alike++;
    line->n_alike--;
    line->promised_ms = 0;
    line->claims = false;
}

static bool stands_in(const struct sched_job *line, uint64_t job)
{
    for (size_t k = 0; k < line->n_alike; k++)
        if (line->alike[k] == job)
            return true;
    return line->id == job;
}

static struct sched_job *copy_jobs(struct arena *arena, struct sched_snapshot *s)
{
    struct sched_job *jobs = ARENA_ARRAY(arena, s->n_jobs + 1, struct sched_job);
    if (s->n_jobs)
        memcpy(jobs, s->jobs, s->n_jobs * sizeof *jobs);
    s->jobs = jobs;
    return jobs;
}

void snapshot_drop(struct arena *arena, struct sched_snapshot *s, uint64_t job)
{
    struct sched_job *jobs = copy_jobs(arena, s);
    size_t at = 0;
    while (at < s->n_jobs && !stands_in(&jobs[at], job))
        at++;
    if (at == s->n_jobs)
        return;
    if (jobs[at].n_alike)
        drop_from(arena, &jobs[at], job);
    else
        memmove(jobs + at, jobs + at + 1, (--s->n_jobs - at) * sizeof *jobs);
}

void snapshot_add(struct ctl *ctl, struct arena *arena, struct sched_snapshot *s,
                  const struct sched_job *job)
{
    copy_jobs(arena, s)[s->n_jobs] = *job;
    s->n_jobs++;
    s->users = queues_users(ctl, arena, s);
    s->n_users = queues_user_count(ctl);
}

struct sched_job snapshot_newcomer(struct ctl *ctl, const struct job_spec *spec, const char *owner)
{
    uint32_t queue = queues_position(ctl, spec->queue);
    return (struct sched_job){ .id = job_id_next(ctl->last_id, core_now(ctl)),
                               .spec = spec,
                               .queue = queue,
                               .user = queues_user(ctl, queue, owner) };
}
