/* Gangs of several jobs that start together: who belongs together, and whether all are there. A
 * gang that has started once is satisfied; a job that comes back starts without the others. */
#include "depend/bundle.h"
#include "ctl/lines.h"
#include "depend/wording.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
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

const char *bundle_key_now(const struct ctl *ctl, struct arena *arena, const struct live_job *job)
{
    bool held = !job->notes.has_peers || job->row.generation > 0 || !job->spec ||
                job->row.not_before_ms > core_now(ctl);
    return held ? NULL : bundle_key(arena, job->spec);
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

/* The job that the gang starts with: one that waits, else one that runs, else one that is held. */
static struct live_job *owner_of(struct ctl *ctl, const char *name)
{
    size_t cursor = 0;
    struct live_job *job, *found = NULL;
    while (live_next(ctl->live, &cursor, &job)) {
        size_t project = strlen(job->row.project);
        if (job_state_final(job->row.state) || strncmp(name, job->row.project, project) != 0 ||
            !core_spec(ctl, job) || !has_gang(job->spec, name))
            continue;
        if (job->row.state == JOB_QUEUED)
            return job;
        if (!found || found->row.state == JOB_SUSPENDED)
            found = job;
    }
    return found;
}

enum there { THERE, WAITS_TOO, NOT_THERE };

static enum there look(struct ctl *ctl, const char *name, const char *key, struct draft *why)
{
    struct live_job *other = owner_of(ctl, name);
    struct arena *scratch = arena_create();
    enum there answer = THERE;
    draft_init(why);
    draft_add(why, "starts together with gang %.100s", name);
    if (!other) {
        draft_add(why, ", which no job has");
        answer = NOT_THERE;
    } else if (other->row.state == JOB_SUSPENDED) {
        draft_add(why, ": ");
        draft_job(why, &other->row);
        draft_add(why, " is suspended");
        answer = NOT_THERE;
    } else if (other->row.state == JOB_QUEUED && other->row.generation == 0) {
        const char *its = bundle_key(scratch, other->spec);
        answer = its && strcmp(its, key) == 0 ? WAITS_TOO : NOT_THERE;
        if (answer == NOT_THERE) {
            draft_add(why, ", and ");
            draft_job(why, &other->row);
            draft_add(why, " names others");
        }
    }
    arena_destroy(scratch);
    return answer;
}

uint32_t bundle_ready(struct ctl *ctl, struct live_job *job, const char *key, struct draft *why)
{
    const struct job_spec *spec = job->spec;
    const struct lines *lines = live_lines(ctl->live);
    struct arena *scratch = arena_create();
    uint32_t waiting = 0;
    bool all = true;
    for (size_t i = 0; i < spec->n_gangs && all; i++)
        for (size_t k = 0; k < spec->gangs[i].with.n && all; k++)
            all = look(ctl, spec->gangs[i].with.at[k], key, why) != NOT_THERE;
    for (size_t i = 0; i < lines_aside(lines) && all; i++) {
        struct live_job *other = lines_aside_at(lines, i);
        const char *its = core_spec(ctl, other) ? bundle_key(scratch, other->spec) : NULL;
        waiting += other->row.generation == 0 && its && strcmp(its, key) == 0;
    }
    arena_destroy(scratch);
    return all ? waiting : 0;
}
