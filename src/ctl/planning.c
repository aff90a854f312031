/* Who starts where: a snapshot of what waits, the scheduler's answer, and its recording. The engine
 * hears of it after the commit. */
#include "ctl/core.h"
#include "ctl/share.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define LOOKS_APART_MS 1000
#define PLAN_DEPTH     128 /* blocked jobs looked at; those behind them wait for their turn */

void planning_ask(struct ctl *ctl, size_t position)
{
    /* Behind as many blocked jobs as a pass looks at, a newcomer changes nothing. */
    if (ctl->looked < PLAN_DEPTH || position < ctl->looked)
        ctl->plan_due = true;
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
    agent = vec_add(&job->agents);
    agent->node = arena_strdup(job->places, node);
    agent->state = AGENT_EXPECTED;
    launch_token(ctl, job, node, token);
    launch_token_hash(token, agent->token_hash);
    return agent;
}

void planning_place(struct ctl *ctl, struct live_job *job, uint32_t flat, uint32_t seq)
{
    struct live_task *task = &job->tasks[flat];
    if (!event_task(ctl, job, flat, TASK_EV_PLACED))
        return;
    job->again -= task->again;
    job->wants_place -= task->wants_place;
    job->turned -= task->turned;
    task->again = task->wants_place = task->turned = task->end_asked = false;
    task->launch_due = true;
    task->attempt++;
    task->place.attempt = task->attempt;
    task->attempt_state = ATTEMPT_STARTING;
    task->seq = seq;
    task->placed_ms = core_now(ctl);
    task->started_ms = task->log_end = task->not_before_ms = 0;
    task->pid = 0;
    job->launch_seq = seq;
    struct live_agent *agent = expect_agent(ctl, job, task->place.node);
    agent->launch_seq = seq;
    agent->changed = true;
    event_task_row(ctl, job, flat);
    event_attempt_row(ctl, job, flat, NULL, 0);
}

/* Plans live for one pass; places live as long as the generation. */
static void copy_place(struct arena *arena, struct task_place *to, const struct task_place *from)
{
    *to = *from;
    to->node = arena_strdup(arena, from->node);
    to->address = arena_strdup(arena, from->address);
    to->gpus = ARENA_ARRAY(arena, from->n_gpus, uint32_t);
    if (from->n_gpus)
        memcpy(to->gpus, from->gpus, from->n_gpus * sizeof *to->gpus);
    to->ports = ARENA_ARRAY(arena, from->n_ports, struct placed_port);
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

static struct text_node *placement_body(struct ctl *ctl, const struct live_job *job)
{
    struct arena *arena = ctl->scratch;
    struct text_node *body = text_map(arena, NULL, NULL), *nodes = text_map(arena, body, "nodes");
    char name[160];
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const char *node = job->tasks[flat].place.node;
        struct text_node *at = text_get(nodes, node);
        if (!*node)
            continue;
        if (job->row.tasks <= NAMED_TASKS) {
            at = at ? at : text_list(arena, nodes, node);
            text_str(arena, at, NULL, live_task_name(name, job, flat));
        } else if (at) {
            at->integer++;
            at->str = arena_printf(arena, "%lld", (long long)at->integer);
        } else {
            text_int(arena, nodes, node, 1);
        }
    }
    text_int(arena, body, "generation", job->row.generation);
    return body;
}

static void allocated_text(const struct live_job *job, char *text, size_t size)
{
    uint32_t placed = job->row.tasks - job->wants_place;
    char later[48] = "";
    if (job->wants_place)
        snprintf(later, sizeof later, ", %u more when there is room", job->wants_place);
    if (job->agents.n == 1)
        snprintf(text, size, "%u task%s on %.80s%s", placed, placed == 1 ? "" : "s",
                 job->agents.at[0].node, later);
    else
        snprintf(text, size, "%u tasks on %zu nodes%s", placed, job->agents.n, later);
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
        task->used = (struct retry_used){ 0 };
        task->again = task->wants_place = true;
        task->turned = false;
        event_task(ctl, job, flat, TASK_EV_RESET);
    }
    job->again = job->wants_place = job->row.tasks;
    job->turned = 0;
}

/* A range that a role only prefers was taken: its peers are told the other one, its user too. */
static void say_moved(struct ctl *ctl, struct live_job *job, uint32_t flat)
{
    char text[300], name[160];
    const struct task_place *place = &job->tasks[flat].place;
    const struct role *role = &job->spec->roles[place->role];
    for (uint32_t i = 0; i < place->n_ports && i < role->n_ports; i++) {
        const struct port_want *want = &role->ports[i];
        if (!want->first || !want->prefer || place->ports[i].numbers[0] == want->first)
            continue;
        snprintf(text, sizeof text, "%s: port %u (%.60s) is taken on %.60s, it has %u instead",
                 live_task_name(name, job, flat), want->first, want->label, place->node,
                 place->ports[i].numbers[0]);
        event_task_note(ctl, job, flat, "port", text, NULL);
    }
}

static void say_moved_ports(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    for (uint32_t i = 0; i < entry->n_tasks; i++) {
        struct task_ref ref = { .role = (uint16_t)entry->tasks[i].role,
                                .index = entry->tasks[i].index };
        say_moved(ctl, job, live_flat(job, ref));
    }
}

static void put_places(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry,
                       uint32_t seq)
{
    for (uint32_t i = 0; i < entry->n_tasks; i++) {
        struct task_ref ref = { .role = (uint16_t)entry->tasks[i].role,
                                .index = entry->tasks[i].index };
        uint32_t flat = live_flat(job, ref);
        copy_place(job->places, &job->tasks[flat].place, &entry->tasks[i]);
        job->tasks[flat].taken = true;
        planning_place(ctl, job, flat, seq);
    }
}

/* Numbers alone: a reason whose amounts change is another one. */
static bool same_reason(const struct wait_reason *a, const struct wait_reason *b)
{
    return a->why == b->why && a->need == b->need && a->best == b->best &&
           a->short_by == b->short_by && a->total == b->total;
}

static void refused(struct ctl *ctl, struct live_job *job, const struct wait_reason *reason)
{
    struct live_refusal *r = &job->refusal;
    uint64_t now = core_now(ctl);
    if (r->count == 0 || !same_reason(&job->why, reason))
        *r = (struct live_refusal){ .first_ms = now, .last_ms = now, .count = 1 };
    else if (now >= r->last_ms + LOOKS_APART_MS)
        *r = (struct live_refusal){ r->first_ms, now, r->count + 1 };
}

static void wait_on(struct ctl *ctl, struct live_job *job, const struct wait_reason *reason)
{
    switch (reason->why) {
    case WAIT_RESOURCE:
    case WAIT_PORTS:
    case WAIT_LABELS:
    case WAIT_NODES_DOWN: refused(ctl, job, reason); break;
    default: job->refusal = (struct live_refusal){ .count = 0 };
    }
    job->why = *reason;
    job->why.resource = job->why.node = job->why.role = job->why.text = NULL;
    if (reason->text && *reason->text && job->row.state != JOB_RUNNING)
        live_set_reason(job, reason->text);
    if (reason->why == WAIT_TIME && reason->until_ms)
        core_wake(ctl, reason->until_ms);
}

static void allocate(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    char text[160];
    if (!take(ctl, job, entry))
        return;
    live_make_tasks(job);
    board_clear(ctl, job);
    arena_reset(job->places);
    vec_clear(&job->agents);
    job->row.generation++;
    job->row.not_before_ms = job->row.started_ms = 0;
    job->stop_sent = STOP_NONE;
    job->refusal = (struct live_refusal){ .count = 0 };
    reset_tasks(ctl, job);
    put_places(ctl, job, entry, 1);
    if (job->wants_place)
        ctl->plan_due = true; /* why the rest waits is the next pass's to say */
    for (uint32_t flat = 0; job->wants_place && flat < job->row.tasks; flat++)
        if (job->tasks[flat].wants_place)
            event_task_row(ctl, job, flat);
    allocated_text(job, text, sizeof text);
    event_job(ctl, job, JOB_EV_ALLOCATED, text, placement_body(ctl, job));
    say_moved_ports(ctl, job, entry);
}

static void place_more(struct ctl *ctl, struct live_job *job, const struct plan_entry *entry)
{
    if (take(ctl, job, entry)) {
        put_places(ctl, job, entry, job->launch_seq + 1);
        say_moved_ports(ctl, job, entry);
    }
    if (entry->reason.why != WAIT_NONE)
        wait_on(ctl, job, &entry->reason);
}

/* ---- the snapshot ---- */

enum turn_of { LOOK_AT, PASS_BY, LEFT };

static enum turn_of waits_for_time(struct ctl *ctl, struct live_job *job)
{
    if (job->row.not_before_ms <= core_now(ctl))
        return LOOK_AT;
    core_wake(ctl, job->row.not_before_ms);
    job->why = (struct wait_reason){ .why = WAIT_TIME, .until_ms = job->row.not_before_ms };
    return PASS_BY;
}

/* A job whose row cannot be read, or that waits for what will never come, ends here; one that waits
 * for a time or for others does not stand in the way of those behind it. */
static enum turn_of turn_of(struct ctl *ctl, struct live_job *job, struct shares *shares)
{
    char text[LIVE_REASON_MAX];
    if (!core_spec(ctl, job)) {
        settle_end(ctl, job, JOB_EV_FAIL, "its record cannot be read");
        return LEFT;
    }
    int answer = job->notes.has_after ? after_blocked(ctl, job, text, sizeof text) : 0;
    if (answer < 0) {
        settle_end(ctl, job, JOB_EV_FAIL, text);
        return LEFT;
    }
    if (answer == 0 && waits_for_time(ctl, job) == PASS_BY)
        return PASS_BY;
    if (answer == 0 && share_ask(ctl, shares, job, text, sizeof text))
        return LOOK_AT;
    job->why = (struct wait_reason){ .why = WAIT_AFTER };
    live_set_reason(job, text);
    return PASS_BY;
}

struct bundles { /* of the snapshot: each key is numbered by its first job */
    struct arena *arena;
    const char *keys[2 * PLAN_DEPTH];
    uint64_t numbers[2 * PLAN_DEPTH];
    size_t n;
};

/* false: the others that it starts with are not all there. */
static bool join_bundle(struct ctl *ctl, struct live_job *job, struct bundles *all,
                        struct sched_job *out)
{
    char text[LIVE_REASON_MAX];
    const char *key = job->row.generation ? NULL : bundle_key(all->arena, job->spec);
    size_t i = 0;
    if (!key)
        return true;
    out->bundle_size = bundle_ready(ctl, job, key, text, sizeof text);
    if (!out->bundle_size) {
        job->why = (struct wait_reason){ .why = WAIT_AFTER };
        live_set_reason(job, text);
        return false;
    }
    while (i < all->n && strcmp(all->keys[i], key) != 0)
        i++;
    if (i == all->n) {
        all->keys[all->n] = key;
        all->numbers[all->n++] = job->row.id;
    }
    out->bundle = all->numbers[i];
    return true;
}

/* Fills jobs with those that may start now, in order; *position is how far down the list that went.
 */
static size_t look_at(struct ctl *ctl, struct arena *arena, struct sched_job *jobs,
                      size_t *position)
{
    struct bundles bundles = { .arena = arena };
    struct shares shares = { .arena = arena };
    size_t n = 0, i = 0;
    while (i < live_waiting(ctl->live) && n < 2 * PLAN_DEPTH) {
        struct live_job *job = live_waiting_at(ctl->live, i);
        enum turn_of turn = turn_of(ctl, job, &shares);
        struct sched_job one = { .id = job->row.id };
        if (turn == LOOK_AT && join_bundle(ctl, job, &bundles, &one)) {
            one.spec = job->spec;
            jobs[n++] = one;
        }
        i += turn != LEFT; /* the next one is at i when this one left the list */
    }
    *position = i;
    return n;
}

bool planning_left(struct ctl *ctl, struct arena *arena, const struct live_job *job,
                   struct sched_more *more)
{
    uint64_t now = core_now(ctl);
    *more = (struct sched_more){ .id = job->row.id, .spec = job->spec };
    if (job->wants_place == 0 || live_closing(job))
        return false;
    struct task_ref *refs = ARENA_ARRAY(arena, job->wants_place, struct task_ref);
    for (uint32_t flat = 0; flat < job->row.tasks && more->n < job->wants_place; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (task->wants_place && task->not_before_ms <= now)
            refs[more->n++] =
                (struct task_ref){ .role = (uint16_t)task->place.role, .index = task->place.index };
    }
    more->tasks = refs;
    return more->n > 0;
}

static size_t look_for_more(struct ctl *ctl, struct arena *arena, struct sched_more **out)
{
    VEC(struct sched_more) all = { 0 };
    struct sched_more more;
    size_t kept = 0;
    for (size_t i = 0; i < ctl->wanting.n; i++) {
        struct live_job *job = live_find(ctl->live, ctl->wanting.at[i]);
        if (!job)
            continue;
        job->wanting = job->wants_place > 0;
        if (job->wanting)
            ctl->wanting.at[kept++] = job->row.id;
        if (planning_left(ctl, arena, job, &more))
            vec_push(&all, more);
    }
    ctl->wanting.n = kept;
    *out = ARENA_ARRAY(arena, all.n, struct sched_more);
    if (all.n)
        memcpy(*out, all.at, all.n * sizeof **out);
    size_t n = all.n;
    vec_fini(&all);
    return n;
}

void planning_run(struct ctl *ctl)
{
    struct arena *arena = arena_create();
    struct sched_job *jobs = ARENA_ARRAY(arena, 2 * PLAN_DEPTH, struct sched_job);
    struct sched_more *more;
    ctl->plan_due = false;
    struct sched_snapshot snapshot = { .cluster = ctl->cluster, .jobs = jobs, .depth = PLAN_DEPTH };
    size_t position = 0;
    snapshot.n_jobs = look_at(ctl, arena, jobs, &position);
    snapshot.n_more = look_for_more(ctl, arena, &more);
    snapshot.more = more;
    ctl->looked = position;
    size_t admitted = 0;
    if (snapshot.n_jobs || snapshot.n_more) {
        ctl->counters.plans++;
        struct plan plan = sched_plan(&snapshot, core_now(ctl), arena);
        for (size_t i = 0; i < plan.n; i++) {
            const struct plan_entry *entry = &plan.at[i];
            struct live_job *job = live_find(ctl->live, entry->job);
            if (!job)
                continue;
            if (entry->kind == PLAN_ADMIT) {
                allocate(ctl, job, entry);
                admitted++;
            } else if (entry->kind == PLAN_MORE) {
                place_more(ctl, job, entry);
            } else if (entry->kind == PLAN_WAIT) {
                wait_on(ctl, job, &entry->reason);
            }
        }
    }
    if (admitted && live_waiting(ctl->live) > position - admitted)
        ctl->plan_due = true; /* more waited than this pass looked at */
    arena_destroy(arena);
}
