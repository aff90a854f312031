/* The start of a server: live rows to memory, the engine told which agents should be alive, then
 * the ordinary turn. There is no other way up, so a kill at any moment is the shutdown that gets
 * tested. */
#include "ctl/array.h"
#include "ctl/auditor.h"
#include "ctl/clock.h"
#include "ctl/core.h"
#include "ctl/looks.h"
#include "ctl/run_times.h"
#include "ctl/strangers.h"

#include "base/log.h"
#include "base/mem.h"
#include "store/mended.h"

#define RELAUNCH_MS 200ull /* what is found dead is reported first */

/* What was launched before is launched again a little later: an agent that died meanwhile is
 * reported by then. */
static void put_off(struct ctl *ctl, struct live_job *job)
{
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        const struct live_agent *agent =
            task->launch_due ? live_agent(job, task->place.node) : NULL;
        if (!agent || !agent->launched)
            continue;
        live_set_due(job, task, false);
        live_set_later(job, task, true);
        ctl->relaunch_at = core_now(ctl) + RELAUNCH_MS;
    }
}

static void add_known(struct ctl *ctl, struct arena *arena, struct live_job *job,
                      struct engine_known *known, size_t *n)
{
    for (size_t i = 0; i < job->agents.n; i++) {
        const struct live_agent *agent = &job->agents.at[i];
        if (!agent->launched)
            continue;
        AUTO_FREE char *dir = launch_dir(ctl, job->row.number, job->row.generation, agent->node);
        struct engine_known *one = &known[(*n)++];
        *one = (struct engine_known){ .dir = arena_strdup(arena, dir),
                                      .generation = { .job = job->row.id,
                                                      .number = job->row.generation },
                                      .node = agent->node,
                                      .last_seq = agent->last_seq };
        for (size_t k = 0; k < sizeof one->token_hash; k++)
            one->token_hash[k] = agent->token_hash[k];
    }
}

static int recover_engine(struct ctl *ctl, struct arena *arena, struct err *err)
{
    size_t agents = 0, n = 0, cursor = 0;
    struct live_job *job;
    while (live_next(ctl->live, &cursor, &job))
        agents += job->agents.n;
    struct engine_known *known = ARENA_ARRAY(arena, agents, struct engine_known);
    cursor = 0;
    while (live_next(ctl->live, &cursor, &job))
        add_known(ctl, arena, job, known, &n);
    return ctl->config.engine->ops->recover(ctl->config.engine, known, n, err);
}

int ctl_recover(struct ctl *ctl, struct err *err)
{
    struct taped AUTO_TAPED taped = taped_in(ctl, (struct ctl_input){ .kind = INPUT_RECOVER });
    struct arena *arena = arena_create();
    struct job_row *rows;
    size_t n = 0;
    clock_look(ctl);
    load_nodes(ctl);
    queues_load(ctl);
    run_times_load(ctl);
    int rc = store_live_jobs(ctl->config.store, arena, &rows, &n, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (rows[i].members) {
            array_open(ctl, &rows[i]);
            continue;
        }
        struct live_job *job = load_job(ctl, &rows[i]);
        put_off(ctl, job);
        looks_load(ctl, job);
        queues_resume(ctl, job);
        if (job_state_holds(job->row.state))
            core_touch(ctl, job);
    }
    if (rc == 0)
        rc = recover_engine(ctl, arena, err);
    arena_destroy(arena);
    if (rc)
        return -1;
    strangers_find(ctl);
    log_info("recovered", "jobs=%zu waiting=%zu", live_count(ctl->live), live_waiting(ctl->live));
    core_wake(ctl, ctl->relaunch_at);
    ctl->plan_due = ctl->slices.deleting = true;
    ctl_turn(ctl);
    return 0;
}

static void on_told(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    (void)answer;
}

void ctl_tell_mended(struct ctl *ctl)
{
    const struct store_mended mended = store_take_mended(ctl->config.store);
    bool restored = mended.how == STORE_RESTORED;
    const char *type = restored ? "records.restored" : "records.recovered";
    char text[160], object[48];
    if (mended.how == STORE_AS_IT_WAS)
        return;
    snprintf(text, sizeof text, "the records were %s: events to %llu are there",
             restored ? "put back from a backup" : "damaged, and mended",
             (unsigned long long)mended.event);
    snprintf(object, sizeof object, "events to %llu", (unsigned long long)mended.event);
    audit_server(ctl, type, object);
    ctl_server_event(ctl, type, text, on_told, NULL);
}
