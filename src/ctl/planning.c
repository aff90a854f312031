/* Who starts where: a snapshot of what waits, the scheduler's answer, and its recording. The engine
 * hears of it after the commit. */
#include "ctl/allocations.h"
#include "ctl/core.h"
#include "ctl/document_work.h"
#include "ctl/pass.h"
#include "ctl/slices.h"
#include "ctl/wait_texts.h"
#include "depend/array.h"
#include "image/jobs/early_images.h"
#include "live/deaths.h"
#include "live/lines.h"
#include "sched/placement.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/turn_meter.h"

#include <stdio.h>
#include <string.h>

#define LOOKS_APART_MS 1000

/* What stands in line behind those alike changes nothing. */
void planning_join(struct ctl *ctl, struct live_job *job)
{
    struct lines *lines = live_lines(ctl->live);
    live_wait_add(ctl->live, job);
    if (job->spec)
        job->notes.shape = job_shape(job->spec);
    if (job->notes.has_peers || job->row.not_before_ms > core_now(ctl) || !job->notes.shape ||
        job->notes.own) {
        lines_put_aside(lines, job);
        ctl->plan_due = true;
    } else if (lines_join(lines, job)) {
        ctl->plan_due = true;
    } else {
        early_images_join(ctl->images, job);
    }
}

/* ---- recording ---- */

static struct live_agent *expect_agent(struct ctl *ctl, struct live_job *job, const char *node)
{
    struct live_agent *last = job->agents.n ? &job->agents.at[job->agents.n - 1] : NULL;
    if (last && strcmp(last->node, node) == 0)
        return last;
    struct live_agent *agent = live_agent(job, node);
    if (agent)
        return agent;
    unsigned char token[TOKEN_LEN];
    agent = live_add_agent(job, node);
    agent->state = AGENT_EXPECTED;
    token_derive(ctl->key, job, node, token);
    token_hash(token, agent->token_hash);
    return agent;
}

/* A range that a role only prefers was taken: its peers are told the other one, its user too. */
static void say_moved(struct ctl *ctl, struct live_job *job, uint32_t flat)
{
    const struct task_place *place = &job->tasks[flat].place;
    const struct role *role = &job->spec->roles[place->role];
    for (uint32_t i = 0; i < place->n_ports && i < role->n_ports; i++) {
        const struct port_request *want = &role->ports[i];
        if (!want->first || !want->prefer || place->ports[i].numbers[0] == want->first)
            continue;
        const struct reason why = { .kind = REASON_OTHER_PORT, .job = job, .flat = flat, .n = i };
        event_task_note(ctl, job, flat, "port", &why, NULL);
    }
}

void planning_place(struct ctl *ctl, struct live_job *job, uint32_t flat, uint32_t seq)
{
    struct live_task *task = &job->tasks[flat];
    bool later = task->phase == PHASE_ASSIGNED;
    if (!event_task(ctl, job, flat, TASK_EV_PLACED))
        return;
    live_set_phase(job, task, PHASE_PLACED);
    live_set_turned(job, task, false);
    task->end_asked = task->gave = task->left = false;
    task->last = NULL;
    task->attempt++;
    task->place.attempt = task->attempt;
    task->attempt_state = ATTEMPT_STARTING;
    task->seq = seq;
    task->placed_ms = core_date(ctl);
    task->started_ms = task->began_ms = task->log_end = task->not_before_ms = 0;
    task->pid = 0;
    task->death = (struct live_death){ 0 };
    job->launch_seq = seq;
    struct live_agent *agent = expect_agent(ctl, job, task->place.node);
    agent->launch_seq = seq;
    agent->since = agent->since || agent->launched ? agent->since : seq;
    agent->changed = true;
    slices_spend(&ctl->slices.rows, 1);
    event_task_row(ctl, job, flat);
    event_attempt_row(ctl, job, flat, NULL);
    if (later)
        say_moved(ctl, job, flat);
}

struct place_copy { /* the last place of a plan, and its copy: many have the same node */
    const struct task_place *from, *to;
};

static const char *copy_text(struct arena *arena, const char *text, const char *before,
                             const char *copy_before)
{
    return text == before ? copy_before : arena_strdup(arena, text);
}

/* Plans live for one pass; places live as long as the generation. */
static void copy_place(struct arena *arena, struct task_place *to, const struct task_place *from,
                       const struct place_copy *last)
{
    const struct task_place none = { .node = NULL };
    const struct task_place *before = last->from ? last->from : &none;
    const struct task_place *copy = last->to ? last->to : &none;
    *to = *from;
    to->node = copy_text(arena, from->node, before->node, copy->node);
    to->address = copy_text(arena, from->address, before->address, copy->address);
    to->gpus = from->n_gpus ? ARENA_ARRAY(arena, from->n_gpus, uint32_t) : NULL;
    if (from->n_gpus)
        memcpy(to->gpus, from->gpus, from->n_gpus * sizeof *to->gpus);
    to->ports = from->n_ports ? ARENA_ARRAY(arena, from->n_ports, struct placed_port) : NULL;
    for (uint32_t i = 0; i < from->n_ports; i++) {
        to->ports[i] = from->ports[i];
        to->ports[i].label = arena_strdup(arena, from->ports[i].label);
        to->ports[i].numbers = ARENA_ARRAY(arena, from->ports[i].count, uint32_t);
        memcpy(to->ports[i].numbers, from->ports[i].numbers,
               from->ports[i].count * sizeof(uint32_t));
    }
}

static bool take(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    for (uint32_t i = 0; i < entry->n_tasks; i++) {
        if (cluster_take(ctl->cluster, job->spec, &entry->tasks[i]))
            continue;
        log_error("plan.misfit", "job=%llu node=%s task=%u", (unsigned long long)job->row.number,
                  entry->tasks[i].node, i);
        while (i-- > 0)
            cluster_give(ctl->cluster, job->spec, &entry->tasks[i]);
        return false;
    }
    return true;
}

#define NAMED_TASKS 256 /* larger jobs name numbers per node, not tasks */

static void name_tasks(struct arena *arena, const struct live_job *job, struct text_node *nodes)
{
    char name[160];
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const char *node = job->tasks[flat].place.node;
        struct text_node *at = text_get(nodes, node);
        if (!*node)
            continue;
        at = at ? at : text_list(arena, nodes, node);
        text_str(arena, at, NULL, live_task_name(name, job, flat));
    }
}

struct node_tasks { /* how many tasks are on a node */
    const char *node;
    int64_t n;
};

static void count_tasks(struct arena *arena, const struct live_job *job, struct text_node *nodes)
{
    struct node_tasks *all = ARENA_ARRAY(arena, job->row.tasks, struct node_tasks), *at = NULL;
    struct string_map *by_node = string_map_create();
    size_t n = 0;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const char *node = job->tasks[flat].place.node;
        if (!*node)
            continue;
        if (!at || at->node != node)
            at = string_map_get(by_node, node);
        if (!at) {
            at = &all[n++];
            *at = (struct node_tasks){ .node = node };
            string_map_set(by_node, node, at);
        }
        at->n++;
    }
    for (size_t i = 0; i < n; i++)
        text_int(arena, nodes, all[i].node, all[i].n);
    string_map_destroy(by_node);
}

static struct text_node *placement_body(struct ctl *ctl, const struct live_job *job)
{
    struct arena *arena = ctl->scratch;
    struct text_node *body = text_map(arena, NULL, NULL), *nodes = text_map(arena, body, "nodes");
    if (job->row.tasks <= NAMED_TASKS)
        name_tasks(arena, job, nodes);
    else
        count_tasks(arena, job, nodes);
    text_int(arena, body, "generation", job->row.generation);
    return body;
}

/* The attempts of the last generation are history; tasks above the gang's minimum that found no
 * room now get theirs later. */
static void reset_tasks(struct ctl *ctl, struct live_job *job)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        task->place = (struct task_place){
            .role = task->place.role, .index = task->place.index, .node = "", .address = ""
        };
        task->attempt_state = ATTEMPT_NONE;
        task->used = (struct retry_counts){ 0 };
        live_set_phase(job, task, PHASE_UNPLACED);
        live_set_turned(job, task, false);
        task->unstartable = task->gave = false;
        if (task->state != TASK_WAITING)
            event_task(ctl, job, flat, TASK_EV_RESET); /* counts by what the last attempt was */
        task->seq = task->pid = 0;
        task->placed_ms = task->started_ms = task->began_ms = task->log_end = 0;
        task->not_before_ms = 0;
    }
}

static bool prefers_ports(const struct job_spec *spec)
{
    for (size_t r = 0; r < spec->n_roles; r++)
        for (size_t i = 0; i < spec->roles[r].n_ports; i++)
            if (spec->roles[r].ports[i].prefer)
                return true;
    return false;
}

/* Of those that were not put off. */
static void say_moved_ports(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    bool any = prefers_ports(job->spec);
    for (uint32_t i = 0; any && i < entry->n_tasks && i < slices_size(ctl); i++) {
        struct task_ref ref = { .role = (uint16_t)entry->tasks[i].role,
                                .index = entry->tasks[i].index };
        say_moved(ctl, job, live_flat(job, ref));
    }
}

/* It has its place, and is entered there with one of the next slices (settle.c). */
static void assign(struct live_job *job, struct live_task *task, const struct task_place *last)
{
    struct task_place *copy = *last->node ? ARENA_NEW(job->places, struct task_place) : NULL;
    if (copy)
        *copy = *last;
    task->last = copy;
    live_set_phase(job, task, PHASE_ASSIGNED);
}

static void put_places(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry,
                       uint32_t seq)
{
    struct place_copy copied = { .from = NULL };
    for (uint32_t i = 0; i < entry->n_tasks; i++) {
        struct task_ref ref = { .role = (uint16_t)entry->tasks[i].role,
                                .index = entry->tasks[i].index };
        uint32_t flat = live_flat(job, ref);
        const struct task_place last = job->tasks[flat].place;
        copy_place(job->places, &job->tasks[flat].place, &entry->tasks[i], &copied);
        copied = (struct place_copy){ &entry->tasks[i], &job->tasks[flat].place };
        live_set_taken(job, &job->tasks[flat], true);
        if (i < slices_size(ctl))
            planning_place(ctl, job, flat, seq);
        else
            assign(job, &job->tasks[flat], &last);
    }
}

/* Numbers alone: a reason whose amounts change is another one. */
static bool same_reason(const struct live_why *a, const struct wait_reason *b)
{
    return a->why == b->why && a->need == b->need && a->best == b->best &&
           a->short_by == b->short_by && a->total == b->total;
}

/* Looks that are close to each other count as one. */
static void refused(struct live_refusal *r, uint64_t now, bool same)
{
    if (r->count == 0 || !same)
        *r = (struct live_refusal){ .first_ms = now, .last_ms = now, .count = 1 };
    else if (now >= r->last_ms + LOOKS_APART_MS)
        *r = (struct live_refusal){ r->first_ms, now, r->count + 1 };
}

static void note_why(struct ctl *ctl, struct live_why *why, struct live_refusal *refusal,
                     const struct wait_reason *reason)
{
    if (reason_is_of_nodes(reason->why))
        refused(refusal, core_now(ctl), same_reason(why, reason));
    else
        *refusal = (struct live_refusal){ .count = 0 };
    *why = (struct live_why){ .why = reason->why,
                              .need = reason->need,
                              .best = reason->best,
                              .short_by = reason->short_by,
                              .total = reason->total,
                              .of = reason->of };
}

/* Of a running job: tasks that found no place. */
static void wait_on(struct ctl *ctl, struct live_job *job, const struct wait_reason *reason)
{
    note_why(ctl, &job->why, &job->refusal, reason);
}

/* Of waiting jobs: the first of a line speaks for all; of a bundle, each for itself. */
static void keep_waiting(struct ctl *ctl, struct live_job *job, const struct wait_reason *reason)
{
    struct line *line = job->line;
    const struct sentence was = live_reason(job);
    const struct sentence now = reason_text(ctl, ctl->scratch, core_spec(ctl, job), reason);
    struct draft kept;
    draft_init(&kept);
    draft_sentence(&kept, &now);
    const struct sentence why = draft_said(&kept);
    job->expected_ms = reason->at_ms;
    early_images_note(ctl->images, job, reason);
    if (now.text && !sentence_same(&why, &was))
        taped_wait(ctl, job, &why);
    if (!line) {
        note_why(ctl, &job->why, &job->refusal, reason);
        live_set_sentence(job, &why);
        return;
    }
    note_why(ctl, &line->why, &line->refusal, reason);
    line->reason = kept;
}

static void tell(const struct ctl *ctl, const struct plan_entry *entry)
{
    if (ctl->watch.planned)
        ctl->watch.planned(ctl->watch.arg, entry);
}

static void allocate(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    if (array_holds(ctl->arrays, &job->row) || !core_spec(ctl, job) || !take(ctl, job, entry))
        return;
    live_make_tasks(job);
    core_clear_board(ctl, job);
    deaths_begin(job);
    arena_reset(job->places);
    live_clear_agents(job);
    job->row.generation++;
    job->notes.lives = (struct pairs){ .n = 0 };
    job->row.not_before_ms = job->row.started_ms = job->notes.began_ms = 0;
    job->notes.dates_differ = false;
    job->stop_sent = STOP_NONE;
    job->won_ms = 0;
    job->refusal = (struct live_refusal){ .count = 0 };
    ctl->counters.late += job->notes.promised_ms && core_now(ctl) > job->notes.promised_ms;
    job->notes.promised_ms = job->expected_ms = 0;
    job->notes.claims = false;
    job->notes.idle = entry->idle;
    reset_tasks(ctl, job);
    put_places(ctl, job, entry, 1);
    job->notes.placing = live_in_phase(job, PHASE_ASSIGNED) > 0;
    if (live_in_phase(job, PHASE_UNPLACED))
        ctl->plan_due = true; /* why the rest waits is the next pass's to say */
    bool told = store_keeps_details(ctl->config.store);
    event_job(ctl, job, JOB_EV_ALLOCATED, &(struct reason){ .kind = REASON_PLACED, .job = job },
              told ? placement_body(ctl, job) : NULL);
    say_moved_ports(ctl, job, entry);
    if (!job->notes.placing) /* else with the last of its places */
        launch_say_left_out(ctl, job);
    tell(ctl, entry);
}

static void place_more(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    if (take(ctl, job, entry)) {
        put_places(ctl, job, entry, job->launch_seq + 1);
        say_moved_ports(ctl, job, entry);
        tell(ctl, entry);
        ctl->plan_due |= live_in_phase(job, PHASE_UNPLACED) > 0; /* what it grows by */
    }
    if (entry->reason.why != WAIT_NONE)
        wait_on(ctl, job, &entry->reason);
}

static bool is_due(const struct ctl *ctl, const struct live_task *task)
{
    return task->phase == PHASE_UNPLACED && task->not_before_ms <= core_now(ctl);
}

/* Of each role, how many of its tasks are to find a place in this pass. What a job cannot go on
 * without finds its places together: what it grows by would only hold it up, and comes after. */
static const uint32_t *asked_of_roles(const struct ctl *ctl, struct arena *arena,
                                      const struct live_job *job)
{
    uint32_t *asked = ARENA_ARRAY(arena, job->spec->n_roles, uint32_t);
    uint32_t *there = ARENA_ARRAY(arena, job->spec->n_roles, uint32_t);
    bool *wants = ARENA_ARRAY(arena, job->spec->n_roles, bool), fixed = false;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        uint32_t role = job->tasks[flat].place.role;
        there[role] += job->tasks[flat].phase != PHASE_UNPLACED;
        wants[role] = wants[role] || is_due(ctl, &job->tasks[flat]);
    }
    for (uint32_t i = 0; i < job->spec->n_roles; i++) {
        const struct role *role = &job->spec->roles[i];
        uint32_t least = placement_least(job->spec, role);
        asked[i] = least > there[i] ? least - there[i] : 0;
        fixed = fixed || (wants[i] && least == role->replicas);
    }
    for (uint32_t i = 0; !fixed && i < job->spec->n_roles; i++)
        asked[i] = job->spec->roles[i].replicas;
    return asked;
}

bool planning_left(const struct ctl *ctl, struct arena *arena, const struct live_job *job,
                   struct sched_more *more)
{
    const uint32_t unplaced = live_in_phase(job, PHASE_UNPLACED);
    *more = (struct sched_more){ .id = job->row.id, .spec = job->spec };
    if (unplaced == 0 || job->notes.placing || job->ending || live_closing(job))
        return false;
    struct task_ref *refs = ARENA_ARRAY(arena, unplaced, struct task_ref);
    const uint32_t *asked = asked_of_roles(ctl, arena, job);
    uint32_t *taken = ARENA_ARRAY(arena, job->spec->n_roles, uint32_t);
    for (uint32_t flat = 0; flat < job->row.tasks && more->n < unplaced; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (is_due(ctl, task) && taken[task->place.role]++ < asked[task->place.role])
            refs[more->n++] =
                (struct task_ref){ .role = (uint16_t)task->place.role, .index = task->place.index };
    }
    more->tasks = refs;
    return more->n > 0;
}

/* Another job has more right to its places. */
static void evict(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    struct live_job *by = live_find(ctl->live, entry->by);
    if (live_closing(job) || !job_state_holds(job->row.state))
        return;
    if (entry->by && (!by || array_holds(ctl->arrays, &by->row)))
        return;
    if (by) {
        by->notes.claims = true;
        event_job_row(ctl, by);
    }
    const struct reason why = { .kind = by ? REASON_MAKES_ROOM : REASON_BID,
                                .other = by ? &by->row : NULL };
    settle_evict(ctl, job, by ? by->row.number : 0, &why);
    tell(ctl, entry);
}

/* The first time that is promised stays; what is expected moves with what happens. Others may start
 * who do not delay it: the next pass looks who. */
static void promise(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    job->expected_ms = entry->at_ms;
    tell(ctl, entry);
    if (job->notes.promised_ms)
        return;
    job->notes.promised_ms = entry->at_ms;
    taped_promise(ctl, job, entry->at_ms);
    ctl->plan_due = true;
    ctl->counters.promised++;
    event_job_row(ctl, job);
}

static void apply(struct ctl *ctl, const struct plan_entry *entry)
{
    struct live_job *job = live_find(ctl->live, entry->job);
    if (!job)
        return;
    if (entry->kind == PLAN_ADMIT)
        allocate(ctl, job, entry);
    else if (entry->kind == PLAN_MORE)
        place_more(ctl, job, entry);
    else if (entry->kind == PLAN_EVICT)
        evict(ctl, job, entry);
    else if (entry->kind == PLAN_RESERVE)
        promise(ctl, job, entry);
    else if (entry->kind == PLAN_WAIT && job->waits && allocations_ask(ctl, job, &entry->reason))
        allocations_say(job);
    else if (entry->kind == PLAN_WAIT && job->waits)
        keep_waiting(ctl, job, &entry->reason);
    else if (entry->kind == PLAN_WAIT)
        wait_on(ctl, job, &entry->reason);
}

static struct plan make_plan(struct ctl *ctl, const struct sched_snapshot *snapshot,
                             struct arena *arena)
{
    TURN_WORK(ctl->config.meter, "plan", 0);
    return sched_plan(snapshot, core_now(ctl), arena);
}

void planning_run(struct ctl *ctl)
{
    TURN_WORK(ctl->config.meter, "placements", 0);
    struct arena *arena = arena_create();
    struct sched_snapshot snapshot;
    uint64_t began = core_stopwatch_us(ctl);
    ctl->plan_due = false;
    early_images_begin(ctl->images);
    pass_begin(ctl, arena, &snapshot);
    if (snapshot.n_jobs || snapshot.n_more) {
        ctl->counters.plans++;
        struct plan plan = make_plan(ctl, &snapshot, arena);
        for (size_t i = 0; i < plan.n; i++)
            apply(ctl, &plan.at[i]);
        counters_plan(ctl, core_stopwatch_us(ctl) - began);
    }
    early_images_go_on(ctl->images);
    arena_destroy(arena);
}
