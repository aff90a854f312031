/* The start of a server: live rows to memory, the engine told which agents should be alive, then
 * the ordinary turn. There is no other way up, so a kill at any moment is the shutdown that gets
 * tested. */
#include "account/audit.h"
#include "ctl/clock.h"
#include "ctl/core.h"
#include "ctl/node_work.h"
#include "ctl/participants.h"
#include "ctl/silence_work.h"

#include "base/log.h"
#include "base/mem.h"
#include "ctl/tape.h"
#include "job/launch.h"
#include "store/repair.h"

static void add_known(struct ctl *ctl, struct arena *arena, struct live_job *job,
                      struct engine_agent *known, size_t *n)
{
    for (size_t i = 0; i < job->agents.n; i++) {
        const struct live_agent *agent = &job->agents.at[i];
        if (!agent->launched)
            continue;
        AUTO_FREE char *dir =
            launch_dir(ctl->config.runs_dir, job->row.number, job->row.generation, agent->node);
        struct engine_agent *one = &known[(*n)++];
        *one = (struct engine_agent){ .dir = arena_strdup(arena, dir),
                                      .generation = { .job = job->row.id,
                                                      .number = job->row.generation },
                                      .node = agent->node,
                                      .last_seq = agent->last_seq };
        for (size_t k = 0; k < sizeof one->token_hash; k++)
            one->token_hash[k] = agent->token_hash[k];
    }
}

static int recover_engine(struct ctl *ctl, struct err *err)
{
    struct arena *arena = arena_create();
    size_t agents = 0, n = 0, cursor = 0;
    struct live_job *job;
    while (live_next(ctl->live, &cursor, &job))
        agents += job->agents.n;
    struct engine_agent *known = ARENA_ARRAY(arena, agents, struct engine_agent);
    cursor = 0;
    while (live_next(ctl->live, &cursor, &job))
        add_known(ctl, arena, job, known, &n);
    int rc = ctl->config.engine->ops->recover(ctl->config.engine, known, n, err);
    arena_destroy(arena);
    return rc;
}

int ctl_recover(struct ctl *ctl, struct err *err)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_RECOVER });
    clock_look(ctl);
    if (participants_load(ctl, err) || recover_engine(ctl, err))
        return -1;
    node_work_find_strangers(ctl);
    core_recover_silence(ctl);
    log_info("recovered", "jobs=%zu waiting=%zu", live_count(ctl->live), live_waiting(ctl->live));
    core_wake(ctl, ctl->relaunch_at);
    ctl->plan_due = true;
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
    const struct store_repair mended = store_take_repair(ctl->config.store);
    bool restored = mended.how == STORE_RESTORED;
    const char *type = restored ? "records.restored" : "records.recovered";
    char text[160], object[48];
    if (mended.how == STORE_AS_IT_WAS)
        return;
    snprintf(text, sizeof text, "the records were %s: events to %llu are there",
             restored ? "put back from a backup" : "damaged, and mended",
             (unsigned long long)mended.event);
    snprintf(object, sizeof object, "events to %llu", (unsigned long long)mended.event);
    audit_server(ctl->accounts, type, object);
    ctl_server_event(ctl, type, text, on_told, NULL);
}
