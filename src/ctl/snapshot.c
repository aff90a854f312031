#include "ctl/snapshot.h"

#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/lines.h"
#include "ctl/queues.h"

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
    job->why = (struct wait_reason){ .why = WAIT_TIME, .until_ms = job->row.not_before_ms };
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
    char text[LIVE_REASON_MAX];
    uint32_t size = bundle_ready(m->ctl, job, key, text, sizeof text);
    uint64_t number = size ? bundle_number(m, key) : 0;
    if (!size) {
        job->why = (struct wait_reason){ .why = WAIT_AFTER };
        live_set_reason(job, text);
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

/* false: its first was the last of the line, and cannot run. */
static bool first_of(struct ctl *ctl, struct line *line)
{
    struct live_job *job = line->first;
    if (!job)
        job = line->first = live_find(ctl->live, line_first_id(line));
    if (core_spec(ctl, job))
        return true;
    settle_end(ctl, job, JOB_EV_FAIL, "its record cannot be read");
    return false;
}

static void add_lines(struct making *m)
{
    struct line *line = lines_first(live_lines(m->ctl->live));
    while (line) {
        struct line *next = line->next;
        size_t jobs = line_jobs(line);
        bool readable = first_of(m->ctl, line);
        while (!readable && --jobs > 0)
            readable = first_of(m->ctl, line);
        if (readable) {
            struct sched_job *one = add_job(m, line->first);
            one->alike = line->ids.at + line->head + 1;
            one->n_alike = jobs - 1;
        }
        line = next;
    }
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
                                   .demand = vector_of_job(job->spec),
                                   .bid_milli = job->spec->spot_bid_milli,
                                   .started_ms = job->row.started_ms,
                                   .leaving = live_closing(job),
                                   .idle = job->notes.idle };
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
    struct lines *lines = live_lines(ctl->live);
    struct making m = { .ctl = ctl, .arena = arena, .out = out };
    look_aside(&m);
    size_t most = lines_count(lines) + lines_aside(lines);
    m.jobs = ARENA_ARRAY(arena, most, struct sched_job);
    look_at_bundles(&m);
    add_lines(&m);
    add_running(&m);
    add_more(&m);
    out->cluster = ctl->cluster;
    out->jobs = m.jobs;
    out->queues = queues_specs(ctl, &out->n_queues);
    out->users = queues_users(ctl, arena, out);
    out->n_users = queues_user_count(ctl);
    out->run_ms = ctl->config.run_ms;
    wake_for_steps(ctl, out);
}
