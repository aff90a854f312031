/* Gangs of several jobs that start together: who belongs together, and whether all are there. A
 * gang that has started once is satisfied; a job that comes back starts without the others. */
#include "depend/bundle.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *project_of(const struct job_spec *spec)
{
    return spec->project ? spec->project : "";
}

bool bundle_has_peers(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_gangs; i++)
        if (spec->gangs[i].with.n > 0)
            return true;
    return false;
}

const char *bundle_key(struct arena *arena, const struct job_spec *spec)
{
    size_t n = 0, others = 0;
    for (size_t i = 0; i < spec->n_gangs; i++)
        others += spec->gangs[i].with.n;
    if (others == 0)
        return NULL;
    const char **names = ARENA_ARRAY(arena, spec->n_gangs + others, const char *);
    for (size_t i = 0; i < spec->n_gangs; i++) {
        const struct gang *gang = &spec->gangs[i];
        if (gang->name)
            names[n++] = arena_printf(arena, "%s/%s", project_of(spec), gang->name);
        for (size_t k = 0; k < gang->with.n; k++)
            names[n++] = gang->with.at[k];
    }
    AUTO_BUF struct buf key = BUF_INIT(1 << 20);
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(names[i - 1], names[i]) != 0)
            buf_addf(&key, "%s,", names[i]);
    return arena_strdup(arena, buf_str(&key));
}

static bool has_gang(const struct job_spec *spec, const char *name)
{
    size_t project = strlen(project_of(spec));
    if (strncmp(name, project_of(spec), project) != 0 || name[project] != '/')
        return false;
    for (size_t i = 0; i < spec->n_gangs; i++)
        if (spec->gangs[i].name && strcmp(spec->gangs[i].name, name + project + 1) == 0)
            return true;
    return false;
}

struct gang_job { /* a job that has a gang */
    const struct job_row *row;
    const struct job_spec *spec;
};

/* The job that the gang starts with: one that waits, else one that runs, else one that is held. */
static struct gang_job owner_of(const struct bundle_jobs *jobs, const char *name)
{
    struct gang_job found = { .row = NULL };
    size_t cursor = 0;
    const struct job_row *row;
    while ((row = jobs->next(jobs->arg, &cursor))) {
        if (job_state_final(row->state) || strncmp(name, row->project, strlen(row->project)) != 0)
            continue;
        const struct job_spec *spec = jobs->spec(jobs->arg);
        if (!spec || !has_gang(spec, name))
            continue;
        if (row->state == JOB_QUEUED)
            return (struct gang_job){ row, spec };
        if (!found.row || found.row->state == JOB_SUSPENDED)
            found = (struct gang_job){ row, spec };
    }
    return found;
}

static bool has_key(struct arena *scratch, const struct gang_job *job, const char *key)
{
    const char *its =
        job->row->generation == 0 && job->spec ? bundle_key(scratch, job->spec) : NULL;
    return its && strcmp(its, key) == 0;
}

static struct bundle_answer look(const struct bundle_jobs *jobs, struct arena *scratch,
                                 const char *gang, const char *key)
{
    const struct gang_job other = owner_of(jobs, gang);
    struct bundle_answer answer = { .kind = BUNDLE_WHOLE, .gang = gang };
    if (!other.row)
        answer.kind = BUNDLE_NO_JOB;
    else if (other.row->state == JOB_SUSPENDED)
        answer.kind = BUNDLE_SUSPENDED;
    else if (other.row->state == JOB_QUEUED && other.row->generation == 0 &&
             !has_key(scratch, &other, key))
        answer.kind = BUNDLE_DIFFERS;
    if (other.row)
        answer.row = *other.row;
    return answer;
}

static uint32_t count_aside(const struct bundle_jobs *jobs, struct arena *scratch, const char *key)
{
    uint32_t waiting = 0;
    size_t cursor = 0;
    struct gang_job one;
    while ((one.row = jobs->next_aside(jobs->arg, &cursor))) {
        one.spec = jobs->spec(jobs->arg);
        waiting += has_key(scratch, &one, key);
    }
    return waiting;
}

struct bundle_answer bundle_look(const struct bundle_jobs *jobs, const struct job_spec *spec,
                                 const char *key)
{
    struct bundle_answer answer = { .kind = BUNDLE_WHOLE };
    struct arena *scratch = arena_create();
    for (size_t i = 0; i < spec->n_gangs && answer.kind == BUNDLE_WHOLE; i++)
        for (size_t k = 0; k < spec->gangs[i].with.n && answer.kind == BUNDLE_WHOLE; k++)
            answer = look(jobs, scratch, spec->gangs[i].with.at[k], key);
    if (answer.kind == BUNDLE_WHOLE)
        answer.waiting = count_aside(jobs, scratch, key);
    arena_destroy(scratch);
    return answer;
}
