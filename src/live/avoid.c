/* Nodes on which one task of a job failed too often (retry.per_node): from then on the job goes
 * elsewhere, where there is an elsewhere. What is counted lies with the task, what is avoided with
 * the job; both outlive the generation and the server. */
#include "live/avoid.h"

#include <string.h>

bool avoid_node(const struct live_job *job, const char *node)
{
    return words_have(&job->notes.avoid, node);
}

static struct words with(struct arena *arena, const struct words *names, const char *name)
{
    struct words more = { .at = ARENA_ARRAY(arena, names->n + 1, const char *), .n = names->n };
    if (names->n)
        memcpy(more.at, names->at, names->n * sizeof *more.at);
    more.at[more.n++] = name;
    return more;
}

void avoid_apply(struct live_job *job)
{
    struct words *avoid = &job->spec->placing.avoid;
    for (size_t i = 0; i < job->notes.avoid.n; i++)
        if (!words_have(avoid, job->notes.avoid.at[i]))
            *avoid = with(job->arena, avoid, job->notes.avoid.at[i]);
}

/* Is there an elsewhere? For all of its tasks, not for the least that a start needs: tasks of a
 * generation that have lost their places may find new ones together only. */
static bool fits_without(const struct cluster *cluster, const struct live_job *job,
                         const char *node)
{
    struct wait_reason reason;
    struct arena *arena = arena_create();
    struct job_spec spec = *job->spec;
    spec.roles = ARENA_ARRAY(arena, spec.n_roles, struct role);
    for (size_t i = 0; i < spec.n_roles; i++) {
        spec.roles[i] = job->spec->roles[i];
        spec.roles[i].min = spec.roles[i].replicas;
    }
    spec.n_gangs = 0;
    spec.placing.avoid = with(arena, &spec.placing.avoid, node);
    bool fits = sched_possible(cluster, &spec, arena, &reason) == 0;
    arena_destroy(arena);
    return fits;
}

/* As many nodes as it may lose for reasons of the platform. */
static bool may_leave_another(const struct live_job *job)
{
    const struct count most = job->spec->retry.platform;
    return most.kind == COUNT_ALWAYS || (most.kind == COUNT_NUMBER && job->notes.avoid.n < most.n);
}

enum avoidance avoid_count(const struct cluster *cluster, struct live_job *job, uint32_t flat)
{
    struct live_task *task = &job->tasks[flat];
    const char *node = task->place.node;
    uint32_t most = job->spec->retry.per_node;
    if (!most)
        return AVOID_NOTHING;
    if (!task->failed_on || strcmp(task->failed_on, node) != 0) {
        task->failed_on = arena_strdup(job->arena, node);
        task->failed_times = 0;
    }
    if (++task->failed_times < most || avoid_node(job, node) || !fits_without(cluster, job, node))
        return AVOID_NOTHING;
    if (!may_leave_another(job))
        return AVOID_NO_MORE;
    job->notes.avoid = with(job->arena, &job->notes.avoid, task->failed_on);
    avoid_apply(job);
    return AVOID_NODE;
}
