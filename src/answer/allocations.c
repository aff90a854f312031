/* Goes through the jobs that are to have an allocation of their own: those that stand aside for
 * one, that wait in line, that run in one and lack tasks. Whoever makes allocations looks here
 * after each commit that changed something. */
#include "answer/allocations.h"

#include "ctl/contents.h"
#include "live/lines.h"
#include "live/live.h"
#include "sched/placement.h"

#include <stdlib.h>

/* Of each role what it cannot do without has its place. */
static bool has_least(const struct live_job *job)
{
    for (uint32_t r = 0, flat = 0; r < job->spec->n_roles; r++) {
        const struct role *role = &job->spec->roles[r];
        uint32_t there = 0;
        for (uint32_t i = 0; i < role->replicas; i++, flat++)
            there += job->tasks[flat].phase != PHASE_UNPLACED;
        if (there < placement_least(job->spec, role))
            return false;
    }
    return true;
}

static void add(struct allocation_requests *out, struct arena *arena, const struct live_job *job,
                bool lacks)
{
    const struct sentence reason = live_reason(job);
    out->at[out->n++] = (struct allocation_request){ .job = job->row.id,
                                                     .number = job->row.number,
                                                     .owner = job->row.owner,
                                                     .queue = job->row.queue,
                                                     .spec = job->spec,
                                                     .alone = job->notes.alone,
                                                     .begun = job->active != 0,
                                                     .lacks = lacks,
                                                     .ran = job->row.generation != 0 };
    if (lacks && reason.text)
        out->at[out->n - 1].reason = sentence_with(arena, &reason, "another job");
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct allocation_request *)a)->job;
    uint64_t y = ((const struct allocation_request *)b)->job;
    return (x > y) - (x < y);
}

struct allocation_requests answer_allocations(struct ctl *ctl, struct arena *arena)
{
    const struct live *live = ctl_contents(ctl).live;
    const struct lines *lines = live_lines(live);
    struct allocation_requests out = { .n = 0 };
    out.at = ARENA_ARRAY(arena, lines_aside(lines) + lines_count(lines) + live_active(live),
                         struct allocation_request);
    for (size_t i = 0; i < lines_aside(lines); i++) {
        struct live_job *job = lines_aside_at(lines, i);
        if (job->notes.own && core_spec(ctl, job))
            add(&out, arena, job, false);
    }
    for (const struct line *line = lines_first(lines); line; line = line->next) {
        const struct live_job *job = line->first;
        if (job && job->notes.own && job->spec)
            add(&out, arena, job, line->refusal.count > 0);
    }
    for (size_t i = 0; i < live_active(live); i++) {
        const struct live_job *job = live_active_at(live, i);
        if (job->notes.own && job->spec && job->tasks)
            add(&out, arena, job, !live_closing(job) && job->refusal.count > 0 && !has_least(job));
    }
    if (out.n)
        qsort(out.at, out.n, sizeof *out.at, by_id);
    return out;
}
