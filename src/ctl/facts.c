/* What agents and engines report, applied once. A fact is copied when it is heard, applied at the
 * turn, and kept until the commit: when the commit fails it is applied again to the reloaded state,
 * so nothing hangs on an agent sending it twice. */
#include "ctl/allocations.h"
#include "ctl/core.h"
#include "ctl/silence_work.h"
#include "image/jobs/early_images.h"
#include "image/jobs/images.h"
#include "inventory/nodes.h"
#include "live/silence_bound.h"
#include "rdzv/jobs/rdzv_table.h"
#include "secret/secrets.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/turn_meter.h"
#include "ctl/slices.h"

#include <stdio.h>
#include <string.h>

/* Log growth is no event: memory and the watcher, nothing stored. */
static void log_grew(struct ctl *ctl, const struct engine_fact *fact)
{
    struct live_job *job = live_find(ctl->live, fact->generation.job);
    if (!job || job->row.generation != fact->generation.number || !job->tasks || !job->spec)
        return;
    uint32_t flat = live_flat(job, fact->task);
    if (flat == UINT32_MAX || job->tasks[flat].attempt != fact->attempt)
        return;
    if (fact->log_end > job->tasks[flat].log_end)
        job->tasks[flat].log_end = fact->log_end;
    if (ctl->watch.log)
        ctl->watch.log(ctl->watch.arg, job->row.id, fact->task, fact->attempt, fact->log_end);
}

void facts_hear(struct ctl *ctl, const struct engine_fact *fact)
{
    ctl->counters.facts++;
    if (fact->kind == FACT_LOG) {
        log_grew(ctl, fact);
        return;
    }
    rdzv_table_hear(ctl->rdzv_table, fact);
    if (fact->kind == FACT_LAUNCHER)
        return;
    struct engine_fact *heard = vec_add(&ctl->facts);
    *heard = *fact;
    heard->node = arena_strdup(ctl->hearing, fact->node ? fact->node : "");
    heard->reason = arena_strdup(ctl->hearing, fact->reason);
    heard->spec = nodes_copy(ctl->hearing, fact->spec);
    heard->image = images_copy(ctl->hearing, fact->image);
    heard->remark = arena_strdup(ctl->hearing, fact->remark);
    heard->ending.tail = arena_strdup(ctl->hearing, fact->ending.tail ? fact->ending.tail : "");
}

static void add_ack(struct ctl *ctl, const struct engine_fact *fact)
{
    for (size_t i = 0; i < ctl->acks.n; i++) {
        struct ack *ack = &ctl->acks.at[i];
        if (ack->generation.job == fact->generation.job &&
            ack->generation.number == fact->generation.number &&
            strcmp(ack->node, fact->node) == 0) {
            ack->seq = fact->seq > ack->seq ? fact->seq : ack->seq;
            return;
        }
    }
    *vec_add(&ctl->acks) =
        (struct ack){ .generation = fact->generation, .node = fact->node, .seq = fact->seq };
}

static void task_started(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    uint32_t flat = live_flat(job, fact->task);
    if (flat == UINT32_MAX)
        return;
    struct live_task *task = &job->tasks[flat];
    enum attempt_state next = attempt_next_state(task->attempt_state, ATTEMPT_RUNNING);
    if (task->attempt != fact->attempt || next == ATTEMPT_NONE)
        return;
    task->attempt_state = next;
    live_set_phase(job, task, PHASE_RUNNING);
    task->pid = fact->pid;
    task->started_ms = fact->at_ms ? fact->at_ms : core_date(ctl);
    task->began_ms = core_now(ctl);
    event_task(ctl, job, flat, TASK_EV_STARTED);
    event_task_row(ctl, job, flat);
    event_attempt_row(ctl, job, flat, NULL);
    event_task_note(
        ctl, job, flat, task_event_word(TASK_EV_STARTED),
        &(struct reason){ .kind = REASON_STARTED, .job = job, .flat = flat, .n = fact->pid }, NULL);
    if (!live_closing(job))
        settle_running(ctl, job);
}

/* Or its program is gone, and the rest of it goes. */
static void task_ended(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    uint32_t flat = live_flat(job, fact->task);
    if (flat == UINT32_MAX)
        return;
    struct live_task *task = &job->tasks[flat];
    if (task->attempt != fact->attempt || !live_attempt(task))
        return;
    if (fact->log_end > task->log_end)
        task->log_end = fact->log_end;
    struct attempt_end end = { .flat = flat,
                               .ending = &fact->ending,
                               .remark = fact->remark,
                               .at_ms = fact->at_ms ? fact->at_ms : core_date(ctl),
                               .wakeup = fact->wakeup };
    if (fact->kind == FACT_DIED)
        settle_death(ctl, job, &end);
    else
        settle_attempt(ctl, job, &end);
}

#define ALL_AT_ONCE UINT64_MAX /* what an agent took along */

/* The agent is no more: what it ran without a reported end is lost (gone) or was ended on request
 * (released). false: there is more of it than a slice. */
static bool end_attempts(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    bool released = fact->kind == FACT_RELEASED;
    struct ending ending = { .lost = !released,
                             .by = released && job->notes.end_by ? job->notes.end_by : BY_PLATFORM,
                             .cause = released ? CAUSE_UNSTARTED : CAUSE_AGENT_GONE,
                             .tail = "" };
    uint32_t n = job->row.tasks;
    for (uint32_t flat = 0; flat < n; flat++) {
        struct live_task *task = &job->tasks[flat];
        if (!live_attempt(task) || strcmp(task->place.node, fact->node) != 0)
            continue;
        if (ctl->slices.rows == 0)
            return false;
        slices_spend(&ctl->slices.rows, 1);
        settle_attempt(ctl, job,
                       &(struct attempt_end){ .flat = flat,
                                              .ending = &ending,
                                              .remark = released ? NULL : fact->reason,
                                              .at_ms = fact->at_ms ? fact->at_ms : core_date(ctl),
                                              .wakeup = ALL_AT_ONCE });
    }
    return true;
}

void facts_drop_agent(struct ctl *ctl, struct live_job *job, struct live_agent *agent)
{
    store_delete_agent(ctl->config.store, job->row.id, job->row.generation, agent->node, NULL);
    live_remove_agent(job, agent);
    core_touch(ctl, job);
}

/* The next agent there, if the generation has one, is not to be taken for this one, which may live
 * where somebody was wrong about its machine: it has another token. */
static void count_life(struct ctl *ctl, struct live_job *job, const char *node)
{
    const char *before = pairs_get(&job->notes.lives, node);
    uint64_t n = 0;
    if (live_closing(job))
        return;
    if (before)
        scan_u64(before, 0, UINT32_MAX, &n);
    pairs_setf(&job->notes.lives, job->arena, node, "%llu", (unsigned long long)n + 1);
    event_job_row(ctl, job);
}

static void agent_over(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    struct live_agent *agent = live_agent(job, fact->node);
    if (!agent)
        return;
    if (fact->kind == FACT_AGENT_GONE)
        count_life(ctl, job, fact->node);
    facts_drop_agent(ctl, job, agent);
}

/* Sequenced facts count once. */
static bool is_new(const struct live_job *job, const struct engine_fact *fact)
{
    const struct live_agent *agent = job ? live_agent(job, fact->node) : NULL;
    return fact->seq == 0 ? job != NULL : agent && fact->seq > agent->last_seq;
}

/* What is old or of nobody we know is acknowledged all the same. */
static void count_fact(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    if (fact->seq == 0)
        return;
    add_ack(ctl, fact);
    if (!is_new(job, fact))
        return;
    struct live_agent *agent = live_agent(job, fact->node);
    agent->last_seq = fact->seq;
    agent->changed = true;
    core_touch(ctl, job);
}

/* After a restart an agent may have been told of whatever is to be launched there. The first time
 * that it joins it knows better: what came after its last launch never left the server of before,
 * and may still go elsewhere. A round that was begun without it is begun anew: agents take launches
 * in order, and would pass over it after a later one. */
static void note_untold(struct ctl *ctl, struct live_job *job, struct live_agent *agent,
                        uint32_t launch_seq)
{
    bool first = agent && agent->unheard;
    if (agent)
        agent->unheard = false;
    for (uint32_t flat = 0; first && launch_seq > 0 && flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        if ((task->phase != PHASE_RELAUNCH && task->phase != PHASE_RELAUNCH_LATER) ||
            task->seq <= launch_seq || strcmp(task->place.node, agent->node) != 0)
            continue;
        live_set_phase(job, task, PHASE_PLACED);
        launch_drop(ctl, job);
        core_touch(ctl, job);
    }
}

static void agent_joined(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    struct live_agent *agent = live_agent(job, fact->node);
    note_untold(ctl, job, agent, fact->launch_seq);
    silence_end(job, fact->node);
    enum agent_state next = agent ? agent_next_state(agent->state, AGENT_JOINED) : AGENT_NONE;
    if (next == AGENT_NONE)
        return;
    agent->state = next;
    agent->changed = true;
    if (!taped_replays(ctl))
        secrets_tell(ctl->secrets, job, fact->node);
    core_touch(ctl, job);
}

/* The job, when the fact is of its current generation. */
static struct live_job *job_of(struct ctl *ctl, const struct engine_fact *fact)
{
    struct live_job *job = live_find(ctl->live, fact->generation.job);
    bool now = job && job->row.generation == fact->generation.number && job->tasks;
    return now && core_spec(ctl, job) ? job : NULL;
}

/* Of the fact that an agent is no more. false: there is more of it than a slice. */
static bool end_agent(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    bool over = fact->kind == FACT_AGENT_GONE || fact->kind == FACT_RELEASED;
    if (!job || !over || !is_new(job, fact) || !live_agent(job, fact->node))
        return true;
    job->ending = !end_attempts(ctl, job, fact);
    return !job->ending;
}

/* Of whom this server asked for an image. */
static void hear_answer(struct ctl *ctl, const struct engine_fact *fact)
{
    if (fact->image && fact->image->step >= IMAGE_EARLY_FETCHES)
        early_images_hear(ctl->images, fact);
    else
        images_answer(ctl->images, fact);
}

/* false: only a part of it, which is applied; the rest is with the next slice. */
static bool apply(struct ctl *ctl, const struct engine_fact *fact)
{
    if (fact->kind == FACT_AGENT_GONE)
        launch_held_back(ctl);
    if (fact->kind == FACT_NODE_UP || fact->kind == FACT_NODE_DOWN ||
        fact->kind == FACT_NODE_GONE) {
        ctl->plan_due |= nodes_hear(ctl->nodes, fact);
        return true;
    }
    if (fact->kind == FACT_IMAGE && fact->generation.number == 0) {
        hear_answer(ctl, fact);
        return true;
    }
    if (fact->kind == FACT_ALLOCATION) {
        allocations_hear(ctl, fact);
        return true;
    }
    struct live_job *job = job_of(ctl, fact);
    bool fresh = is_new(job, fact);
    if (!end_agent(ctl, job, fact))
        return false;
    count_fact(ctl, job, fact);
    if (!fresh)
        return true;
    switch (fact->kind) {
    case FACT_AGENT_JOINED: agent_joined(ctl, job, fact); break;
    case FACT_AGENT_SILENT: core_begin_silence(ctl, job, fact); break;
    case FACT_STARTED: task_started(ctl, job, fact); break;
    case FACT_DIED:
    case FACT_ENDED:
    case FACT_REFUSED: task_ended(ctl, job, fact); break;
    case FACT_AGENT_GONE:
    case FACT_RELEASED: agent_over(ctl, job, fact); break;
    case FACT_IMAGE: images_hear(ctl->images, job, fact); break;
    default: break;
    }
    return true;
}

void facts_apply(struct ctl *ctl)
{
    TURN_WORK(ctl->config.meter, "facts", 0);
    while (ctl->applied < ctl->facts.n) {
        struct engine_fact fact = ctl->facts.at[ctl->applied];
        if (ctl->slices.rows == 0 || !apply(ctl, &fact)) {
            core_wake(ctl, core_now(ctl));
            return;
        }
        slices_spend(&ctl->slices.rows, 1);
        ctl->applied++;
    }
}

void facts_committed(struct ctl *ctl)
{
    struct engine *engine = ctl->config.engine;
    for (size_t i = 0; i < ctl->acks.n; i++)
        engine->ops->ack(engine, ctl->acks.at[i].generation, ctl->acks.at[i].node,
                         ctl->acks.at[i].seq);
    vec_clear(&ctl->acks);
    ctl->facts.n -= ctl->applied; /* those heard meanwhile stay, in order */
    if (ctl->facts.n)
        memmove(ctl->facts.at, ctl->facts.at + ctl->applied, ctl->facts.n * sizeof *ctl->facts.at);
    ctl->applied = 0;
    if (ctl->facts.n == 0)
        arena_reset(ctl->hearing);
}
