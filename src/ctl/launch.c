/* When launches of placed jobs are handed to the engine: in rounds of one job, in the order in
 * which agents take them, a slice at a time, held back while something is still to be answered.
 * What they say is made in live/launches/. */
#include "ctl/core.h"
#include "image/jobs/images.h"
#include "inventory/left_devices.h"
#include "live/launches/job_launches.h"
#include "rdzv/jobs/launcher_events.h"

#include "base/log.h"
#include "base/mem.h"
#include "ctl/slices.h"

#include <string.h>

struct launch_server core_launch_server(const struct ctl *ctl)
{
    const struct ctl_config *c = &ctl->config;
    return (struct launch_server){ .dialects = c->dialects,
                                   .cluster = ctl->cluster,
                                   .images = ctl->images,
                                   .secrets = ctl->secrets,
                                   .key = ctl->key,
                                   .storage = core_storage(ctl, NULL),
                                   .state_dir = c->state_dir,
                                   .users_dir = c->users_dir,
                                   .runs_dir = c->runs_dir,
                                   .socket = c->socket,
                                   .public_socket = c->public_socket,
                                   .address = ctl->address,
                                   .fs_uri = c->fs_uri,
                                   .program = c->program,
                                   .python = c->python,
                                   .gpu_mps = c->gpu_mps,
                                   .torchrun = c->torchrun,
                                   .sandbox = c->sandbox,
                                   .task_pids = c->task_pids,
                                   .images_size = c->images_size,
                                   .log_head = c->log_head,
                                   .log_tail = c->log_tail };
}

/* ---- one round of launches of one job ---- */

struct round {
    struct arena *arena; /* of the round, which lies in it */
    uint32_t generation;
    struct job_launches *launches; /* NULL: for an engine of numbers */
    uint32_t named_tasks;          /* the first so many have their hosts there */
    struct launch_due *due; /* by node, then in the order in which its agent takes launches */
    size_t n, next;         /* next: the first of which the engine was not told yet */
    size_t coming;          /* agents that are still to be started for it */
    bool made_files;        /* their texts */
    bool numbers, late;     /* late: some launches wait */
};

static int by_launch(const void *a, const void *b)
{
    const struct launch_due *x = a, *y = b;
    int order = x->node == y->node ? 0 : strcmp(x->node, y->node);
    if (order == 0)
        order = (x->seq > y->seq) - (x->seq < y->seq);
    return order ? order : (x->flat > y->flat) - (x->flat < y->flat);
}

static int round_fill(struct ctl *ctl, struct live_job *job, struct round *round)
{
    const struct launch_server server = core_launch_server(ctl);
    const char *site;
    if (core_site(ctl, round->arena, job->row.id, &site))
        return -1;
    round->launches = job_launches_create(round->arena, &server, job, site);
    return 0;
}

#define LISTS_SHORT 64 /* lists of so many tasks always fit */

void launch_say_left_out(struct ctl *ctl, const struct live_job *job)
{
    if (job->row.tasks <= LISTS_SHORT || !ctl->config.dialects)
        return;
    const struct launch_server server = core_launch_server(ctl);
    struct arena *arena = arena_create();
    const char *text = launch_left_out(&server, job, arena);
    if (text)
        event_note(ctl, &(struct launcher_event){ .job = job->row.id, .text = text },
                   "environment");
    arena_destroy(arena);
}

/* ---- one launch ---- */

#define LATER_MS 1000ull

#define AGENTS_OF_SLICE 4u /* started in one turn: one takes a millisecond or two to fork */

static void launch_later(struct ctl *ctl, struct live_job *job, const struct launch_share *share)
{
    uint64_t at = core_now(ctl) + LATER_MS;
    for (size_t i = 0; i < share->n; i++) {
        struct live_task *task = &job->tasks[share->due[i].flat];
        live_set_phase(job, task, phase_told(task->phase) ? PHASE_RELAUNCH_LATER : PHASE_POSTPONED);
    }
    ctl->relaunch_at = ctl->relaunch_at && ctl->relaunch_at < at ? ctl->relaunch_at : at;
    core_wake(ctl, ctl->relaunch_at);
}

/* May the engine know of an agent there, by an earlier launch? */
static bool was_told(const struct live_job *job, const char *node)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        if (phase_told(job->tasks[flat].phase) && strcmp(job->tasks[flat].place.node, node) == 0)
            return true;
    return false;
}

static void report_failure(struct ctl *ctl, struct live_job *job, const struct launch_due *due,
                           size_t n, const struct err *err)
{
    struct generation generation = { .job = job->row.id, .number = job->row.generation };
    struct live_agent *agent = live_agent(job, due->node);
    bool unknown = agent && agent->state == AGENT_EXPECTED && agent->last_seq == 0 &&
                   !was_told(job, due->node);
    log_warn("engine.start", "job=%llu node=%s: %s", (unsigned long long)job->row.number, due->node,
             err->what);
    for (size_t i = 0; i < n; i++) {
        const struct live_task *task = &job->tasks[due[i].flat];
        struct engine_fact fact = {
            .kind = FACT_REFUSED,
            .generation = generation,
            .node = due->node,
            .task = { .role = (uint16_t)task->place.role, .index = task->place.index },
            .attempt = task->attempt,
            .ending = { .by = err->code == ERR_INPUT ? BY_ITSELF : BY_PLATFORM,
                        .cause = err->code == ERR_FULL ? CAUSE_NODE_FULL : CAUSE_NONE },
            .remark = err->what,
        };
        facts_hear(ctl, &fact);
    }
    struct engine_fact gone = {
        .kind = FACT_AGENT_GONE, .generation = generation, .node = due->node, .reason = err->what
    };
    if (unknown)
        agent->launched = false;
    if (unknown && due->seq == agent->launch_seq)
        facts_hear(ctl, &gone);
}

/* The engine took the launch, or did not. What was launched before may run: when the launch is
 * repeated and fails, it is made again later, and an agent that is gone is reported by the engine.
 * false: later, and so is what else is due on that node, because agents take launches in order. */
static bool launched(struct ctl *ctl, struct live_job *job, const struct launch_share *share,
                     int rc, struct err *err)
{
    bool failed = taped_outside(ctl, OUTSIDE_LAUNCH, rc, err);
    if (failed && phase_told(job->tasks[share->due->flat].phase)) {
        log_warn("engine.again", "job=%llu node=%s: %s", (unsigned long long)job->row.number,
                 share->due->node, err->what);
        return false;
    }
    if (failed)
        report_failure(ctl, job, share->due, share->n, err);
    for (size_t i = 0; i < share->n; i++)
        live_set_phase(job, &job->tasks[share->due[i].flat],
                       failed ? PHASE_REFUSED : PHASE_LAUNCHED);
    return true;
}

static void note_told(struct live_agent *agent)
{
    if (!agent)
        return;
    agent->launched = true;
    agent->unheard = false;
}

static bool start(struct ctl *ctl, struct live_job *job, struct round *round,
                  const struct launch_share *share)
{
    const struct launch_server server = core_launch_server(ctl);
    struct engine *engine = ctl->config.engine;
    struct arena *arena = arena_create();
    struct launch launch;
    struct err err = { 0 };
    note_told(live_agent(job, share->due->node));
    int rc = job_launch_make(round->launches, &server, share, arena, &launch, &err);
    if (rc == 0)
        rc = engine->ops->start(engine, &launch, &err);
    bool taken = launched(ctl, job, share, rc, &err);
    job_launch_wipe(&launch, arena);
    arena_destroy(arena);
    return taken;
}

static bool start_numbers(struct ctl *ctl, struct live_job *job, struct round *round,
                          const struct launch_share *share)
{
    const struct launch launch = job_launch_numbers(job, share, round->arena);
    struct err err = { 0 };
    note_told(live_agent(job, share->due->node));
    int rc = ctl->config.engine->ops->start(ctl->config.engine, &launch, &err);
    return launched(ctl, job, share, rc, &err);
}

/* Does an earlier launch for that agent wait? The agent takes launches in order, and would pass
 * over it after another one. */
static bool agent_waits(const struct live_job *job, const char *node)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        if (phase_postponed(job->tasks[flat].phase) &&
            strcmp(job->tasks[flat].place.node, node) == 0)
            return true;
    return false;
}

/* ---- room in the engine ---- */

/* Places of the round that have no agent yet. Its launches are in order of their nodes. */
static size_t new_agents(const struct live_job *job, const struct round *round)
{
    size_t n = 0;
    for (size_t i = 0; i < round->n; i++) {
        if (i > 0 && strcmp(round->due[i].node, round->due[i - 1].node) == 0)
            continue;
        const struct live_agent *agent = live_agent(job, round->due[i].node);
        n += !agent || !agent->launched;
    }
    return n;
}

/* All of them or none, so that no two jobs wait for each other's; who can never have all is told so
 * by the engine. */
static bool has_room(const struct ctl *ctl, const struct live_job *job, const struct round *round)
{
    const struct engine *engine = ctl->config.engine;
    size_t all, wanted = new_agents(job, round);
    if (!engine->ops->room || wanted == 0)
        return true;
    size_t room = engine->ops->room(engine, &all), coming = ctl->slices.coming;
    return wanted + coming <= room || wanted > all;
}

static void hold_for_room(struct ctl *ctl, struct live_job *job)
{
    for (size_t i = 0; i < ctl->held_back.n; i++)
        if (ctl->held_back.at[i] == job->row.id)
            return;
    vec_push(&ctl->held_back, job->row.id);
    event_say(job, &(struct reason){ .kind = REASON_AGENT_ROOM });
    log_info("launch.waits", "job=%llu note=\"the limit of open files has no room for its agents\"",
             (unsigned long long)job->row.number);
}

/* All of its launches or none: a gang whose devices are taken back begins anew as a whole. Looks
 * (left_devices.c) and answers of registries (images.c) go on with it. */
static bool hold_for_answers(struct ctl *ctl, struct live_job *job)
{
    const char *why = device_check_wait(ctl->left_devices, ctl->scratch, job);
    if (!why)
        why = images_wait(ctl->images, job);
    if (why)
        event_say(job, &(struct reason){ .kind = REASON_SAID, .text = why });
    return why != NULL;
}

void launch_held_back(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->held_back.n; i++) {
        struct live_job *job = live_find(ctl->live, ctl->held_back.at[i]);
        if (job)
            core_touch(ctl, job);
    }
    vec_clear(&ctl->held_back);
}

/* ---- the round, a slice at a time ---- */

static bool of_one_launch(const struct launch_due *a, const struct launch_due *b)
{
    return a->seq == b->seq && strcmp(a->node, b->node) == 0;
}

/* Of all tasks, a slice at a time. */
static void name_hosts(struct ctl *ctl, const struct live_job *job, struct round *round)
{
    uint32_t left = job->row.tasks - round->named_tasks, slice = ctl->slices.hosts;
    uint32_t n = left < slice ? left : slice;
    const struct launch_server server = core_launch_server(ctl);
    if (!round->numbers)
        job_launches_name(round->launches, &server, n);
    slices_spend(&ctl->slices.hosts, n);
    round->named_tasks += n;
}

static void make_files(const struct ctl *ctl, struct round *round)
{
    const struct launch_server server = core_launch_server(ctl);
    round->made_files = true;
    if (!round->numbers)
        job_launches_make_files(round->launches, &server);
}

/* What names all tasks takes long for many: that is made in turns of its own. false: it goes on
 * with the next tick. */
static bool prepare(struct ctl *ctl, const struct live_job *job, struct round *round)
{
    bool large = job->row.tasks > SLICE_HOSTS * slices_size(ctl);
    if (round->named_tasks < job->row.tasks) {
        name_hosts(ctl, job, round);
        if (large || round->named_tasks < job->row.tasks)
            return false;
    }
    if (large && !round->made_files) {
        make_files(ctl, round);
        return false;
    }
    return true;
}

static void find_due(const struct live_job *job, struct round *round)
{
    round->due = ARENA_ARRAY(round->arena, job->row.tasks, struct launch_due);
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (live_due(task))
            round->due[round->n++] =
                (struct launch_due){ .node = task->place.node, .seq = task->seq, .flat = flat };
    }
    qsort(round->due, round->n, sizeof *round->due, by_launch);
}

static void round_begin(struct ctl *ctl, struct live_job *job)
{
    const struct engine *engine = ctl->config.engine;
    struct arena *arena = arena_create();
    struct round *round = ARENA_NEW(arena, struct round);
    *round = (struct round){ .arena = arena, .generation = job->row.generation };
    round->numbers = engine->ops->caps(engine) & ENGINE_NUMBERS || taped_replays(ctl);
    find_due(job, round);
    bool held = hold_for_answers(ctl, job), room = round->numbers || has_room(ctl, job, round);
    if (!held && !room)
        hold_for_room(ctl, job);
    if (held || !room || (!round->numbers && round_fill(ctl, job, round))) {
        arena_destroy(arena);
        return;
    }
    round->coming = new_agents(job, round);
    ctl->slices.coming += round->coming;
    job->round = round;
    job->launching = arena;
}

void launch_drop(struct ctl *ctl, struct live_job *job)
{
    if (!job->round)
        return;
    if (job->round->coming)
        launch_held_back(ctl); /* what was kept for its agents is free */
    ctl->slices.coming -= job->round->coming;
    job->round = NULL;
    arena_destroy(job->launching);
    job->launching = NULL;
}

/* Of the tasks of the next launch those that are still to be started so: meanwhile some may have
 * ended, or were given another place. */
static struct launch_share next_share(const struct live_job *job, struct round *round)
{
    struct launch_due *due = &round->due[round->next], first = *due;
    struct launch_share share = { .due = due };
    for (; round->next < round->n && of_one_launch(&first, &round->due[round->next]);
         round->next++) {
        const struct launch_due *one = &round->due[round->next];
        const struct live_task *task = &job->tasks[one->flat];
        if (live_due(task) && task->seq == one->seq)
            due[share.n++] = *one;
    }
    share.last = round->next == round->n || strcmp(round->due[round->next].node, first.node) != 0;
    return share;
}

/* Returns what it is worth of a slice: an agent takes longer to start than to be told of a task. */
static uint32_t tell_share(struct ctl *ctl, struct live_job *job, const struct launch_share *share)
{
    struct round *round = job->round;
    const struct live_agent *agent = live_agent(job, share->due->node);
    uint32_t fresh = !agent || !agent->launched;
    if (fresh && round->coming > 0) {
        round->coming--;
        ctl->slices.coming--;
    }
    bool goes =
        !(round->late && agent_waits(job, share->due->node)) &&
        (round->numbers ? start_numbers(ctl, job, round, share) : start(ctl, job, round, share));
    if (!goes) {
        launch_later(ctl, job, share);
        round->late = true;
    }
    return (uint32_t)share->n + fresh * (slices_size(ctl) / AGENTS_OF_SLICE);
}

static bool any_due(const struct live_job *job)
{
    return live_in_phases(job, phase_due) > 0;
}

void launch_due(struct ctl *ctl, struct live_job *job)
{
    if (job->notes.placing || job->ending)
        return;
    if (ctl->facts.n > 0 && any_due(job)) { /* one may say that it was started, its agent lost */
        slices_later(ctl, job);
        return;
    }
    if (job->round && job->round->generation != job->row.generation)
        launch_drop(ctl, job);
    if (!job->round && any_due(job))
        round_begin(ctl, job);
    struct round *round = job->round;
    if (!round)
        return;
    if (!prepare(ctl, job, round)) {
        slices_later(ctl, job);
        return;
    }
    round->late = live_in_phases(job, phase_postponed) > 0;
    /* A refusal is recorded first: an agent takes launches in order, and after its next one would
     * pass over the refused one, which is made again when the server dies before that. */
    while (round->next < round->n && ctl->slices.launches > 0 && ctl->facts.n == 0) {
        const struct launch_share share = next_share(job, round);
        if (share.n > 0)
            slices_spend(&ctl->slices.launches, tell_share(ctl, job, &share));
    }
    if (round->next == round->n)
        launch_drop(ctl, job);
    if (job->round || any_due(job))
        slices_later(ctl, job);
}
