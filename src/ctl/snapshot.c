/* Makes the snapshot of a pass from live jobs, lines, queues and the cluster, and changes none of
 * them. */
#include "ctl/snapshot.h"

#include "base/mem.h"
#include "ctl/core.h"
#include "depend/bundle.h"
#include "live/lines.h"

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

const char *snapshot_bundle_key(const struct ctl *ctl, struct arena *arena,
                                const struct live_job *job)
{
    bool held = !job->notes.has_peers || job->row.generation > 0 || !job->spec ||
                job->row.not_before_ms > core_now(ctl);
    return held ? NULL : bundle_key(arena, job->spec);
}

/* Where the others are all there, each is a job of the pass by itself. */
static void add_bundles(struct making *m)
{
    const struct lines *lines = live_lines(m->ctl->live);
    for (size_t i = 0; i < lines_aside(lines); i++) {
        const struct live_job *job = lines_aside_at(lines, i);
        const char *key = snapshot_bundle_key(m->ctl, m->arena, job);
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
