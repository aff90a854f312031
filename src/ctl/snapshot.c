#include "ctl/snapshot.h"

#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/lines.h"
#include "ctl/resolve.h"

#include <stdio.h>
#include <string.h>

#define BUNDLES_MAX 256 /* looked at in one pass */

struct making {
    struct ctl *ctl;
    struct arena *arena;
    struct sched_snapshot *out;
    struct sched_job *jobs;
    struct queue_spec *queues;
    struct sched_user *users;
    struct smap *queue_at, *user_at; /* name, queue and name -> position + 1 */
    const char *bundles[BUNDLES_MAX];
    size_t n_bundles;
};

/* ---- names to positions ---- */

static uint32_t queue_of(struct making *m, const char *name)
{
    struct sched_snapshot *s = m->out;
    size_t known = (size_t)(uintptr_t)smap_get(m->queue_at, name);
    if (known)
        return (uint32_t)known - 1;
    const struct entry *quota = resolve_queue(m->ctl->catalogue, name);
    struct queue_spec *queue = &m->queues[s->n_queues++];
    *queue = (struct queue_spec){
        .name = name, .parent = QUEUE_ROOT, .most = VECTOR_ANY, .user_most = VECTOR_ANY
    };
    if (quota && quota->user_cpu_milli)
        queue->user_most.cpu_milli = quota->user_cpu_milli;
    if (quota && quota->user_gpu_milli)
        queue->user_most.gpu_milli = quota->user_gpu_milli;
    smap_set(m->queue_at, name, (void *)(uintptr_t)s->n_queues);
    return (uint32_t)s->n_queues - 1;
}

static uint32_t user_of(struct making *m, uint32_t queue, const char *owner)
{
    struct sched_snapshot *s = m->out;
    const char *name = arena_printf(m->arena, "%u %s", queue, owner);
    size_t known = (size_t)(uintptr_t)smap_get(m->user_at, name);
    if (known)
        return (uint32_t)known - 1;
    m->users[s->n_users++] = (struct sched_user){ .queue = queue };
    smap_set(m->user_at, name, (void *)(uintptr_t)s->n_users);
    return (uint32_t)s->n_users - 1;
}

static struct sched_job *add_job(struct making *m, const struct live_job *job)
{
    struct sched_job *one = &m->jobs[m->out->n_jobs++];
    *one = (struct sched_job){ .id = job->row.id,
                               .spec = job->spec,
                               .promised_ms = job->notes.promised_ms,
                               .claims = job->notes.claims };
    one->queue = queue_of(m, job->row.queue);
    one->user = user_of(m, one->queue, job->row.owner);
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

static void add_running(struct making *m)
{
    struct live *live = m->ctl->live;
    size_t n = live_active(live);
    struct sched_running *all = ARENA_ARRAY(m->arena, n, struct sched_running);
    for (size_t i = 0; i < n; i++) {
        const struct live_job *job = live_active_at(live, i);
        struct sched_running *one = &all[m->out->n_running++];
        *one = (struct sched_running){ .id = job->row.id,
                                       .held = { .spec = job->spec,
                                                 .first = &job->tasks->place,
                                                 .taken = &job->tasks->taken,
                                                 .stride = sizeof *job->tasks,
                                                 .n = job->row.tasks },
                                       .started_ms = job->row.started_ms,
                                       .leaving = live_closing(job),
                                       .idle = job->notes.idle };
        one->queue = queue_of(m, job->row.queue);
        one->user = user_of(m, one->queue, job->row.owner);
        if (job->spec->limits.run_time_ms.has)
            one->ends_ms = (one->started_ms ? one->started_ms : core_now(m->ctl)) +
                           job->spec->limits.run_time_ms.value;
    }
    m->out->running = all;
}

static void add_more(struct making *m)
{
    struct live *live = m->ctl->live;
    struct sched_more more;
    VEC(struct sched_more) all = { 0 };
    for (size_t i = 0; i < live_active(live); i++)
        if (planning_left(m->ctl, m->arena, live_active_at(live, i), &more))
            vec_push(&all, more);
    struct sched_more *kept = ARENA_ARRAY(m->arena, all.n, struct sched_more);
    if (all.n)
        memcpy(kept, all.at, all.n * sizeof *kept);
    m->out->more = kept;
    m->out->n_more = all.n;
    vec_fini(&all);
}

void snapshot_make(struct ctl *ctl, struct arena *arena, struct sched_snapshot *out)
{
    struct lines *lines = live_lines(ctl->live);
    struct making m = { .ctl = ctl, .arena = arena, .out = out };
    m.queue_at = smap_create();
    m.user_at = smap_create();
    look_aside(&m);
    size_t most = lines_count(lines) + lines_aside(lines);
    m.jobs = ARENA_ARRAY(arena, most, struct sched_job);
    m.queues = ARENA_ARRAY(arena, most + live_active(ctl->live), struct queue_spec);
    m.users = ARENA_ARRAY(arena, most + live_active(ctl->live), struct sched_user);
    look_at_bundles(&m);
    add_lines(&m);
    add_running(&m);
    add_more(&m);
    out->cluster = ctl->cluster;
    out->jobs = m.jobs;
    out->queues = m.queues;
    out->users = m.users;
    smap_destroy(m.queue_at);
    smap_destroy(m.user_at);
}
