/* Engine calls, derived from committed state: start what is due, end what is closing. Flags in
 * memory only spare repeats; after a restart the calls are made again, which every engine bears. */
#include "ctl/core.h"
#include "image/jobs/images.h"

#include "base/log.h"
#include "base/turn_meter.h"

static void end_one(struct ctl *ctl, struct live_job *job, uint32_t flat, enum end_origin by)
{
    struct live_task *task = &job->tasks[flat];
    struct engine *engine = ctl->config.engine;
    struct generation generation = { .job = job->row.id, .number = job->row.generation };
    struct task_ref ref = { .role = (uint16_t)task->place.role, .index = task->place.index };
    struct err err;
    task->end_asked = true;
    if (engine->ops->stop(engine, generation, &ref, STOP_GRACE, by, &err))
        log_warn("engine.stop", "job=%llu task=%u: %s", (unsigned long long)job->row.number, flat,
                 err.what);
}

/* The engine was not told of it before the end was decided, and will not be. */
static void end_untold(struct ctl *ctl, struct live_job *job, uint32_t flat)
{
    struct live_task *task = &job->tasks[flat];
    struct engine_fact fact = {
        .kind = FACT_ENDED,
        .generation = { .job = job->row.id, .number = job->row.generation },
        .node = task->place.node,
        .task = { .role = (uint16_t)task->place.role, .index = task->place.index },
        .attempt = task->attempt,
        .ending = { .by = job->notes.end_by, .cause = CAUSE_UNSTARTED },
    };
    task->end_asked = true;
    facts_hear(ctl, &fact);
}

/* While resources are held after the end, only what still runs is ended; nodes are not released. */
static void hold(struct ctl *ctl, struct live_job *job)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (!live_attempt(task) || task->end_asked)
            continue;
        if (live_untold(task))
            end_untold(ctl, job, flat);
        else
            end_one(ctl, job, flat, job->notes.end_by);
    }
}

/* Those of which the engine is still to be told are ended after that. */
static void end_turned(struct ctl *ctl, struct live_job *job)
{
    for (uint32_t flat = 0; job->turned && flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (task->turned && live_attempt(task) && !task->end_asked && !live_due(task))
            end_one(ctl, job, flat, BY_POLICY);
    }
}

static void end_all(struct ctl *ctl, struct live_job *job)
{
    struct engine *engine = ctl->config.engine;
    struct generation generation = { .job = job->row.id, .number = job->row.generation };
    enum stop_level level = job->notes.force ? STOP_FORCED : STOP_ASKED;
    struct err err;
    if (job->stop_sent >= level)
        return;
    job->stop_sent = level;
    if (engine->ops->stop(engine, generation, NULL, job->notes.force ? STOP_NOW : STOP_GRACE,
                          job->notes.end_by, &err))
        log_warn("engine.stop", "job=%llu: %s", (unsigned long long)job->row.number, err.what);
}

void act_job(struct ctl *ctl, struct live_job *job)
{
    /* Members of an array are asked for as they start: there may be thousands. */
    if (!job_state_final(job->row.state) && !job->row.array && !live_closing(job))
        images_ask(ctl->images, job);
    if (!job_state_holds(job->row.state) || !job->tasks || !core_spec(ctl, job))
        return;
    TURN_WORK(ctl->config.meter, "engine calls", job->row.number);
    if (!live_closing(job)) {
        launch_due(ctl, job);
        end_turned(ctl, job);
        return;
    }
    launch_drop(ctl, job);
    if (job->notes.hold_until_ms > core_now(ctl)) {
        hold(ctl, job);
    } else {
        end_all(ctl, job);
    }
}
