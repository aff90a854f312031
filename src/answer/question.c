/* Answers what folders above the core ask for an explanation: a snapshot that is made for asking
 * only, and facts on live jobs. Specs are read where they are not there yet; nothing else changes.
 */
#include "answer/question.h"

#include "account/redact.h"
#include "answer/job_list.h"
#include "ctl/contents.h"
#include "ctl/ctl.h"
#include "ctl/wait_texts.h"
#include "depend/wording.h"
#include "live/live.h"

void question_snapshot(struct ctl *ctl, struct arena *arena, struct sched_snapshot *out)
{
    pass_ask(ctl, arena, out);
}

const struct queues *question_queues(struct ctl *ctl)
{
    const struct contents core = ctl_contents(ctl);
    return core.queues;
}

uint32_t question_user(struct ctl *ctl, uint32_t queue, const char *owner)
{
    return charges_user(ctl, queue, owner);
}

const struct run_times *question_run_times(struct ctl *ctl)
{
    const struct contents core = ctl_contents(ctl);
    return core.run_times;
}

uint64_t question_next_id(struct ctl *ctl)
{
    const struct contents core = ctl_contents(ctl);
    return job_id_next(core.last_id, ctl_now(ctl));
}

const struct job_row *question_row(struct ctl *ctl, uint64_t job)
{
    const struct contents core = ctl_contents(ctl);
    const struct live_job *live = live_find(core.live, job);
    return live ? &live->row : NULL;
}

const struct job_spec *question_spec(struct ctl *ctl, uint64_t job)
{
    const struct contents core = ctl_contents(ctl);
    struct live_job *live = live_find(core.live, job);
    return live ? core_spec(ctl, live) : NULL;
}

uint32_t question_queue(struct ctl *ctl, uint64_t job)
{
    const struct contents core = ctl_contents(ctl);
    struct live_job *live = live_find(core.live, job);
    if (!live)
        return UINT32_MAX;
    charges_locate(ctl, live);
    return live->queue_at;
}

/* ---- the job that is asked about ---- */

static struct sentence said(struct arena *arena, const struct depend_answer *answer)
{
    struct draft *text = ARENA_NEW(arena, struct draft);
    draft_dependency(text, answer);
    return draft_said(text);
}

static struct sentence waits_for(const struct contents *core, struct arena *arena,
                                 struct live_job *job)
{
    struct depend_answer answer;
    return depend_work_blocks(core->ctl, arena, job, &answer) ? said(arena, &answer)
                                                              : (struct sentence){ .text = NULL };
}

struct sentence question_would_wait(struct ctl *ctl, struct arena *arena,
                                    const struct job_spec *spec)
{
    struct depend_answer answer;
    return depend_work_would_block(ctl, arena, spec, &answer) ? said(arena, &answer)
                                                              : (struct sentence){ .text = NULL };
}

static void add_waiting(const struct contents *core, struct arena *arena, struct live_job *job,
                        struct asked_job *out)
{
    out->spec = core_spec(core->ctl, job);
    out->at_once = array_bound(core->arrays, &job->row);
    out->after = waits_for(core, arena, job);
    out->early_images = listed_early_images(arena, job);
}

static void add_running(const struct contents *core, struct arena *arena,
                        const struct live_job *job, struct asked_job *out)
{
    struct sched_more more;
    out->spec = job->spec;
    if (job->spec && job->tasks && planning_left(core->ctl, arena, job, &more))
        out->unplaced = more.n;
    out->away = nodes_away_of(core->nodes, arena, job);
}

int question_about(struct ctl *ctl, const struct reader *reader, uint64_t id, struct asked_job *out,
                   struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct live_job *job = live_find(core.live, id);
    *out = (struct asked_job){ .live = NULL };
    if (core_row(ctl, reader->arena, id, &out->row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    out->array = array_number(&out->row);
    out->reason = job ? reason_of(ctl, reader, job) : out->row.reason;
    if (!job)
        return 0;
    out->live = &job->row;
    out->waits = job->row.state == JOB_QUEUED || job->row.state == JOB_SUSPENDED;
    out->bundled = job->notes.has_peers && job->row.generation == 0;
    out->promised_ms = job->notes.promised_ms;
    out->why = job->why.why;
    if (out->waits)
        add_waiting(&core, reader->arena, job, out);
    else
        add_running(&core, reader->arena, job, out);
    return 0;
}

uint64_t question_member(struct ctl *ctl, uint64_t id)
{
    const struct contents core = ctl_contents(ctl);
    const struct live_array *array = array_find(core.arrays, id);
    uint64_t aside = 0;
    for (uint32_t i = 1; array && i <= array->row.members; i++) {
        const struct live_job *job = live_find(core.live, id + i);
        if (!job || job->row.state != JOB_QUEUED)
            continue;
        if (job->waits)
            return job->row.id;
        aside = aside ? aside : job->row.id;
    }
    return aside ? aside : id;
}
