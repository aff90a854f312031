/* Changes copies of a snapshot: the list of jobs is copied first, because the one that the snapshot
 * points to, and the ids of those alike, are the core's. */
#include "explain/variant.h"

#include "queue/queues.h"

#include <string.h>

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

void variant_drop(struct arena *arena, struct sched_snapshot *s, uint64_t job)
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

void variant_add(struct arena *arena, struct sched_snapshot *s, const struct sched_job *job,
                 const struct queues *queues, uint64_t now_ms)
{
    copy_jobs(arena, s)[s->n_jobs] = *job;
    s->n_jobs++;
    s->users = queues_users(queues, arena, s, now_ms);
    s->n_users = queues_user_count(queues);
}
