/* A job asks for an allocation when its turn has come, its shares let it start, and no node that is
 * there has room: what the plan says of it then is what its engine can cure. From then on it is a
 * job of its own kind (its shape has its id), it stands aside until its allocation is up, and what
 * it will hold counts for its queue and user as if it ran (snapshot.c), so that no second job asks
 * for the same share. It keeps its allocation over restarts, until it has ended or was suspended.
 */
#include "ctl/allocations.h"

#include "admit/admit.h"
#include "ctl/core.h"
#include "ctl/wait_texts.h"
#include "live/lines.h"
#include "sched/placement.h"

#include <stdlib.h>
#include <string.h>

#define REST_MS 5000u

static void set_own(struct ctl *ctl, struct live_job *job, bool own)
{
    bool waits = job->waits;
    if (waits)
        live_wait_remove(ctl->live, job);
    job->notes.own = own;
    if (job->spec)
        allocations_apply(job);
    if (waits)
        planning_join(ctl, job);
    ctl->plan_due = true;
    event_job_row(ctl, job);
}

bool allocations_ask(struct ctl *ctl, struct live_job *job, const struct wait_reason *reason)
{
    const struct engine *engine = ctl->config.engine;
    if (job->notes.own || job->notes.has_peers || !job->spec || !reason_is_of_nodes(reason->why) ||
        !admit_asks_nodes(engine->ops->caps(engine), job->spec))
        return false;
    set_own(ctl, job, true);
    event_job_note(ctl, job, "allocation", &(struct reason){ .kind = REASON_ASKS_ALLOCATION });
    return true;
}

void allocations_forget(struct ctl *ctl, struct live_job *job)
{
    if (job->notes.own)
        set_own(ctl, job, false);
}

void allocations_apply(struct live_job *job)
{
    job->spec->placing.own = job->notes.own     ? job->row.id
                             : job->notes.alone ? PLACING_OWN_TO_COME
                                                : 0;
}

/* ---- which of its nodes are there ---- */

struct allocation_nodes { /* of one job */
    uint32_t up, of;
};

static void count(const struct ctl *ctl, uint32_t at, struct allocation_nodes *nodes)
{
    const struct node_view node = cluster_node(ctl->cluster, at);
    nodes->up += node.up;
    if (node.spec->of_nodes > nodes->of)
        nodes->of = node.spec->of_nodes;
}

static uint64_t owner_of(const struct ctl *ctl, uint32_t at)
{
    const struct node_spec *spec = cluster_node(ctl->cluster, at).spec;
    return spec->gone ? 0 : spec->for_job;
}

struct map *allocations_there(const struct ctl *ctl, struct arena *arena)
{
    struct map *there = map_create();
    for (uint32_t i = 0; i < cluster_count(ctl->cluster); i++) {
        const uint64_t job = owner_of(ctl, i);
        struct allocation_nodes *nodes = job ? map_get(there, job) : NULL;
        if (!job)
            continue;
        if (!nodes) {
            nodes = ARENA_NEW(arena, struct allocation_nodes);
            map_set(there, job, nodes);
        }
        count(ctl, i, nodes);
    }
    return there;
}

static void set_rest(struct ctl *ctl, struct live_job *job, uint64_t at_ms)
{
    if (job->notes.rest_ms == at_ms)
        return;
    job->notes.rest_ms = at_ms;
    core_deadline(ctl, job, at_ms);
    event_job_row(ctl, job);
}

/* One that is up waits for the others, once, so that the job starts on all of them: where it could
 * do with fewer, or is to be spread, it would be on those that came first. */
bool allocations_pending(struct ctl *ctl, struct live_job *job, const struct map *there)
{
    if (!job->notes.own)
        return false;
    const struct allocation_nodes *nodes = map_get(there, job->row.id);
    const uint64_t now = core_now(ctl);
    if (!nodes || nodes->up == 0) {
        set_rest(ctl, job, 0);
        return true;
    }
    if (job->notes.rest_ms == 0)
        set_rest(ctl, job, nodes->up < nodes->of ? now + REST_MS : now);
    return nodes->up < nodes->of && now < job->notes.rest_ms;
}

void allocations_say(struct live_job *job)
{
    if (job->why.why == WAIT_ALLOCATION)
        return;
    job->why = (struct live_why){ .why = WAIT_ALLOCATION };
    event_say(job, &(struct reason){ .kind = REASON_ASKS_ALLOCATION });
}

/* Somebody cancelled it where it was asked for, or it is refused there. */
static void end_job(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    bool stopped = fact->ending.by == BY_USER;
    const struct reason said = { .kind = REASON_SAID, .text = fact->reason };
    const struct reason *why = fact->reason ? &said : NULL;
    if (!job_state_holds(job->row.state))
        settle_end(ctl, job, stopped ? JOB_EV_STOP : JOB_EV_FAIL, why);
    else if (job->row.outcome == OUTCOME_NONE || job->row.outcome == OUTCOME_REQUEUED)
        settle_close(ctl, job, stopped ? OUTCOME_STOPPED : OUTCOME_FAILED, fact->ending.by, why);
}

void allocations_hear(struct ctl *ctl, const struct engine_fact *fact)
{
    struct live_job *job = live_find(ctl->live, fact->generation.job);
    if (!job || !job->notes.own || job_state_final(job->row.state))
        return;
    if (fact->ending.by != BY_NONE) {
        end_job(ctl, job, fact);
        return;
    }
    if (!job->apart || !fact->reason)
        return;
    const uint64_t now = core_now(ctl), date = core_date(ctl);
    job->why = (struct live_why){ .why = WAIT_ALLOCATION };
    job->expected_ms = fact->at_ms > date ? now + (fact->at_ms - date) : 0;
    event_say(job, &(struct reason){ .kind = REASON_SAID, .text = fact->reason });
}

/* One that waits no more has left its share. */
void allocations_acted(struct ctl *ctl)
{
    if (!ctl->own_touched)
        return;
    ctl->own_touched = false;
    ctl->plan_due = true;
    if (ctl->config.allocate)
        ctl->config.allocate(ctl->config.allocate_arg);
}
