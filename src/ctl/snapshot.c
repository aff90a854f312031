/* Makes the snapshot of a pass from live jobs, lines, queues and the cluster, and changes none of
 * them; and, for explaining, a copy that lacks some jobs or has another one. */
#include "ctl/snapshot.h"

#include "base/mem.h"
#include "ctl/bundle.h"
#include "ctl/core.h"
#include "ctl/lines.h"

#include <stdio.h>
#include <string.h>

#define BUNDLES_MAX 256 /* looked at in one pass */

struct making {
    const struct ctl *ctl;
    struct arena *arena;
    struct sched_snapshot *out;
    struct sched_job *jobs;
    const char *bundles[BUNDLES_MAX];
    size_t n_bundles;
};

static struct sched_job *add_job(struct making *m, const struct live_job *job)
{
    struct sched_job *one = &m->jobs[m->out->n_jobs++];
    *one = (struct sched_job){ .id = job->row.id,
                               .spec = job->spec,
                               .queue = job->queue_at,
                               .user = job->user_at,
                               .promised_ms = job->notes.promised_ms,
                               .claims = job->notes.claims };
    return one;
}

/* ---- jobs that start together ---- */

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

/* Where the others are all there, each is a job of the pass by itself. */
static void add_bundles(struct making *m)
{
    const struct lines *lines = live_lines(m->ctl->live);
    for (size_t i = 0; i < lines_aside(lines); i++) {
        const struct live_job *job = lines_aside_at(lines, i);
        const char *key = bundle_key_now(m->ctl, m->arena, job);
        uint64_t number = key && job->peers ? bundle_number(m, key) : 0;
        if (!number)
            continue;
        struct sched_job *one = add_job(m, job);
        one->bundle = number;
        one->bundle_size = job->peers;
    }
}

/* ---- the parts ---- */

static void add_lines(struct making *m)
{
    for (const struct line *line = lines_first(live_lines(m->ctl->live)); line; line = line->next) {
        const struct live_job *first = line->first;
        if (!first || !first->spec)
            continue; /* its record cannot be read */
        struct sched_job *one = add_job(m, first);
        one->alike = line->ids.at + line->head + 1;
        one->n_alike = line_jobs(line) - 1;
    }
}

static bool is_pending(const struct live_job *job)
{
    return job->notes.own && job->spec && job->located;
}

/* Behind those that run: jobs that wait for an allocation of their own hold no node, but their
 * shares. */
static void add_pending(struct making *m)
{
    const struct lines *lines = live_lines(m->ctl->live);
    const size_t n = m->out->n_running;
    size_t pending = 0;
    for (size_t i = 0; i < lines_aside(lines); i++)
        pending += is_pending(lines_aside_at(lines, i));
    if (pending == 0)
        return;
    struct sched_running *all = ARENA_ARRAY(m->arena, n + pending, struct sched_running);
    if (n)
        memcpy(all, m->out->running, n * sizeof *all);
    m->out->running = all;
    for (size_t i = 0; i < lines_aside(lines); i++) {
        const struct live_job *job = lines_aside_at(lines, i);
        if (is_pending(job))
            all[m->out->n_running++] =
                (struct sched_running){ .id = job->row.id,
                                        .held = { .spec = job->spec },
                                        .demand = vector_of_job(job->spec),
                                        .queue = job->queue_at,
                                        .user = job->user_at,
                                        .priority = (uint8_t)job->spec->priority };
    }
}

static void add_running(struct making *m)
{
    m->out->running = live_running(m->ctl->live);
    m->out->n_running = live_active(m->ctl->live);
    add_pending(m);
}

static void add_more(struct making *m)
{
    const struct ctl *ctl = m->ctl;
    struct sched_more *all = ARENA_ARRAY(m->arena, ctl->wanting.n, struct sched_more);
    for (size_t i = 0; i < ctl->wanting.n; i++) {
        const struct live_job *job = live_find(ctl->live, ctl->wanting.at[i]);
        if (job)
            m->out->n_more += planning_left(ctl, m->arena, job, &all[m->out->n_more]);
    }
    m->out->more = all;
}

void snapshot_make(const struct ctl *ctl, struct arena *arena, struct sched_snapshot *out)
{
    const struct lines *lines = live_lines(ctl->live);
    struct making m = { .ctl = ctl, .arena = arena, .out = out };
    *out = (struct sched_snapshot){ .depth = 0 };
    m.jobs = ARENA_ARRAY(arena, lines_count(lines) + lines_aside(lines), struct sched_job);
    add_bundles(&m);
    add_lines(&m);
    add_running(&m);
    add_more(&m);
    out->cluster = ctl->cluster;
    out->jobs = m.jobs;
    out->queues = queues_specs(ctl->queues, &out->n_queues);
    out->users = queues_users(ctl->queues, arena, out, core_now(ctl));
    out->n_users = queues_user_count(ctl->queues);
    out->run_ms = ctl->config.run_ms;
}

/* ---- to ask ---- */

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

void snapshot_add(const struct ctl *ctl, struct arena *arena, struct sched_snapshot *s,
                  const struct sched_job *job)
{
    copy_jobs(arena, s)[s->n_jobs] = *job;
    s->n_jobs++;
    s->users = queues_users(ctl->queues, arena, s, core_now(ctl));
    s->n_users = queues_user_count(ctl->queues);
}

struct sched_job snapshot_newcomer(struct ctl *ctl, const struct job_spec *spec, const char *owner)
{
    uint32_t queue = queues_position(ctl->queues, spec->queue);
    return (struct sched_job){ .id = job_id_next(ctl->last_id, core_now(ctl)),
                               .spec = spec,
                               .queue = queue,
                               .user = queues_user(ctl->queues, queue, owner, core_now(ctl)) };
}
