/* Consequences: what follows from the state a job has now. Called for every job that a turn
 * touched, in the turn's transaction, and after recovery; everything is derived from state, so
 * doing it again changes nothing. Reads the clock only through the core. */
#include "ctl/clock.h"
#include "ctl/core.h"
#include "ctl/document_work.h"
#include "ctl/slices.h"
#include "depend/dependency.h"
#include "inventory/closed_devices.h"
#include "inventory/left_devices.h"
#include "learn/run_times.h"
#include "live/avoid.h"
#include "live/deaths.h"
#include "live/row_json.h"
#include "live/silence.h"
#include "live/wording.h"
#include "rdzv/jobs/launcher_events.h"
#include "rdzv/jobs/rdzv_table.h"

#include "base/scan.h"

#include <stdio.h>
#include <string.h>

#define DEBUG_HOLD_MS (7ull * 24 * 3600 * 1000) /* OpenPAI keeps a debugged task for a week */
#define PACE_FIRST_MS 200ull /* attempts that cannot even start are not repeated in a hot loop */
#define PACE_MAX_MS   60000ull
#define HURRY_TIMES                                                                                \
    10u /* retries that are taken as they come; then those of short lives are paced */
#define HURRY_LIFE_MS 5000ull
#define HURRY_MAX_MS  10000ull

/* ---- an attempt ended ---- */

struct attempt_outcome { /* one end, with everything that is decided about it */
    const struct ending *ending;
    const char *remark; /* of others on it */
    struct end_words words;
    uint64_t at_ms, wakeup;
    uint32_t flat;
};

static enum attempt_state attempt_outcome(const struct attempt_outcome *end)
{
    enum end_origin by = end->ending->by;
    if (end->ending->lost)
        return ATTEMPT_LOST;
    if (end->words.class == END_SUCCESS)
        return ATTEMPT_SUCCEEDED;
    if (end->words.class == END_STOPPED || by == BY_USER || by == BY_POLICY)
        return ATTEMPT_STOPPED;
    return ATTEMPT_FAILED;
}

static struct text_node *end_body(struct ctl *ctl, const struct attempt_outcome *end,
                                  const char *node)
{
    struct text_node *body = text_map(ctl->scratch, NULL, NULL);
    const struct ending *ending = end->ending;
    text_str(ctl->scratch, body, "node", node);
    if (ending->exited)
        text_int(ctl->scratch, body, "exit_code", ending->code);
    else if (ending->signal)
        text_int(ctl->scratch, body, "signal", ending->signal);
    if (ending->oom)
        text_bool(ctl->scratch, body, "oom", true);
    text_str(ctl->scratch, body, "by", end_origin_word(ending->by));
    text_str(ctl->scratch, body, "class", end_class_word(end->words.class));
    if (end->words.phrase)
        text_str(ctl->scratch, body, "phrase", end->words.phrase);
    const char *beside = words_beside(ending, end->remark);
    if (*beside)
        text_str(ctl->scratch, body, "reason", beside);
    return body;
}

static enum retry_scope scope_of(const struct live_job *job, uint32_t role)
{
    const struct role *r = &job->spec->roles[role];
    return r->has_restart_scope ? r->restart_scope : job->spec->retry.scope;
}

/* Peers were told this task's ports: new ones mean a new generation. */
static bool restarts_in_place(const struct live_job *job, uint32_t role, enum end_class class)
{
    return scope_of(job, role) != RETRY_SCOPE_JOB && (class != END_CONFLICT || job->row.tasks == 1);
}

/* Retries so far that count: of the task, or of all tasks of a role that restarts as a whole. */
static struct retry_counts used_so_far(const struct live_job *job, uint32_t flat)
{
    const struct live_task *task = &job->tasks[flat];
    struct retry_counts sum = { 0 };
    if (scope_of(job, task->place.role) == RETRY_SCOPE_TASK)
        return task->used;
    for (uint32_t i = 0; i < job->row.tasks; i++) {
        const struct retry_counts *used = &job->tasks[i].used;
        if (job->tasks[i].place.role != task->place.role)
            continue;
        sum.platform += used->platform;
        sum.conflict += used->conflict;
        sum.unknown += used->unknown;
        sum.user += used->user;
        sum.success += used->success;
    }
    return sum;
}

static uint64_t paced(const struct live_task *task, const struct ending *ending, uint32_t times,
                      uint64_t delay)
{
    if (task->started_ms || ending->by != BY_PLATFORM)
        return delay;
    uint64_t pace = PACE_FIRST_MS << (times < 9 ? times : 9);
    pace = pace < PACE_MAX_MS ? pace : PACE_MAX_MS;
    return delay > pace ? delay : pace;
}

/* Whatever fails at once and is retried for ever would fill the disk with its attempts. */
static uint64_t unhurried(const struct ctl *ctl, uint32_t times, uint64_t began_ms, uint64_t delay)
{
    if (times < HURRY_TIMES || (began_ms && core_now(ctl) >= began_ms + HURRY_LIFE_MS))
        return delay;
    uint32_t doubled = times - HURRY_TIMES < 9 ? times - HURRY_TIMES : 9;
    uint64_t pace = PACE_FIRST_MS << doubled;
    pace = pace < HURRY_MAX_MS ? pace : HURRY_MAX_MS;
    return delay > pace ? delay : pace;
}

static struct reason again(const struct reason *because, const struct retry_decision *decision,
                           uint64_t delay)
{
    return (struct reason){ .kind = REASON_AGAIN,
                            .because = because,
                            .ms = delay,
                            .n = decision->next,
                            .most = decision->of };
}

static void give(struct ctl *ctl, struct live_job *job, struct live_task *task)
{
    if (!task->taken)
        return;
    device_leave(ctl->left_devices, &task->place);
    cluster_give(ctl->cluster, job->spec, &task->place);
    live_set_taken(job, task, false);
    ctl->plan_due = true;
}

/* A range that every task of the role must have: no other will do. */
static bool must_have(const struct role *role, const char *label)
{
    for (size_t i = 0; i < role->n_ports; i++)
        if (strcmp(role->ports[i].label, label) == 0)
            return role->ports[i].first > 0 && !role->ports[i].prefer;
    return false;
}

/* How long the next attempt waits after a conflict. */
static uint64_t conflict_delay(const struct live_job *job, uint32_t flat)
{
    bool in_place = restarts_in_place(job, job->tasks[flat].place.role, END_CONFLICT);
    const struct retry_counts used = in_place ? used_so_far(job, flat) : job->notes.used;
    return retry_decide(&job->spec->retry, &used, END_CONFLICT).delay_ms;
}

/* Ports that others may be given instead are left alone for a while; those that the task must have
 * are looked at again when it tries again. */
static void block_ports(struct ctl *ctl, const struct live_job *job, uint32_t flat)
{
    const struct live_task *task = &job->tasks[flat];
    uint32_t node = cluster_find(ctl->cluster, task->place.node);
    uint64_t later = core_now(ctl) + PACE_MAX_MS, next = later;
    if (node == UINT32_MAX)
        return;
    for (uint32_t i = 0; i < task->place.n_ports; i++) {
        const struct placed_port *port = &task->place.ports[i];
        uint64_t until = must_have(&job->spec->roles[task->place.role], port->label)
                             ? core_now(ctl) + conflict_delay(job, flat)
                             : later;
        next = until < next ? until : next;
        for (uint32_t k = 0; k < port->count; k++)
            cluster_block_port(ctl->cluster, node, port->numbers[k], until);
    }
    ctl->replan_at = ctl->replan_at && ctl->replan_at < next ? ctl->replan_at : next;
    core_wake(ctl, ctl->replan_at);
}

/* The task goes into another attempt: on the same place, ports and devices included, as long as its
 * node is there and its devices are given out (so that what its peers were told stays true). */
static void retry_task(struct ctl *ctl, struct live_job *job, const struct attempt_outcome *end,
                       const struct retry_decision *decision, const struct reason *what)
{
    struct live_task *task = &job->tasks[end->flat];
    uint64_t delay = paced(task, end->ending, task->used.platform, decision->delay_ms);
    delay = unhurried(ctl, task->attempt, task->began_ms, delay);
    uint32_t node = cluster_find(ctl->cluster, task->place.node);
    bool stays = node != UINT32_MAX && cluster_node(ctl->cluster, node).up && task->taken &&
                 end->words.class != END_CONFLICT && !avoid_node(job, task->place.node) &&
                 !closed_in_place(ctl->closed_devices, &task->place);
    event_task(ctl, job, end->flat, TASK_EV_RETRY);
    live_set_phase(job, task, stays ? PHASE_BACKOFF : PHASE_UNPLACED);
    task->not_before_ms = core_now(ctl) + delay;
    if (stays) {
        device_leave(ctl->left_devices, &task->place);
    } else {
        give(ctl, job, task);
        ctl->plan_due = true;
    }
    if (delay)
        core_deadline(ctl, job, task->not_before_ms);
    event_task_row(ctl, job, end->flat);
    const struct reason why = again(what, decision, delay);
    event_task_note(ctl, job, end->flat, task_event_word(TASK_EV_RETRY), &why,
                    end_body(ctl, end, task->place.node));
    event_job_along(ctl, job, JOB_EV_TASK_RETRY, &why);
}

/* Does what the task held stay its own until the job is over? */
static bool keeps_place(const struct job_spec *spec, enum task_event event)
{
    return spec->limits.hold_ms > 0 || (spec->health.debug_hold && event == TASK_EV_FAIL);
}

static enum task_event final_event(const struct live_job *job, const struct attempt_outcome *end,
                                   enum attempt_state state)
{
    if (state == ATTEMPT_SUCCEEDED)
        return TASK_EV_SUCCEED;
    if (state == ATTEMPT_STOPPED || (state == ATTEMPT_LOST && live_closing(job)))
        return TASK_EV_STOP;
    return live_closing(job) && end->ending->by == job->notes.end_by ? TASK_EV_STOP : TASK_EV_FAIL;
}

/* The reason of a job that is being ended is corrected when who died first is known better. */
static void note_death(struct ctl *ctl, struct live_job *job, const struct attempt_outcome *end,
                       const struct reason *what)
{
    struct draft clause; /* as records keep it */
    draft_reason(&clause, what);
    bool changed = death_add(job, core_now(ctl),
                             &(struct death){ .flat = end->flat,
                                              .ending = end->ending,
                                              .class = end->words.class,
                                              .wakeup = end->wakeup,
                                              .text = clause.text });
    if (!changed)
        return;
    if (job->notes.first_decides && job->row.outcome == OUTCOME_FAILED)
        event_say(job, &(struct reason){ .kind = REASON_FIRST, .job = job });
    event_job_row(ctl, job);
}

static void end_task(struct ctl *ctl, struct live_job *job, const struct attempt_outcome *end,
                     const struct reason *what)
{
    struct live_task *task = &job->tasks[end->flat];
    enum task_event event = final_event(job, end, task->attempt_state);
    live_set_phase(job, task, PHASE_OVER);
    event_task(ctl, job, end->flat, event);
    event_task_row(ctl, job, end->flat);
    event_task_note(ctl, job, end->flat, task_event_word(event), what,
                    end_body(ctl, end, task->place.node));
    if (event == TASK_EV_FAIL) {
        job->fails_now = job->fails_now || !live_closing(job);
        note_death(ctl, job, end, what);
    }
    if (!keeps_place(job->spec, event))
        give(ctl, job, task);
}

void settle_turn(struct ctl *ctl, struct live_job *job, uint32_t flat)
{
    struct live_task *task = &job->tasks[flat];
    if (!live_attempt(task) || task->turned)
        return;
    live_set_turned(job, task, true);
    event_task_row(ctl, job, flat);
    core_touch(ctl, job);
}

/* The others of its role are ended for the one that failed; those that ended well stay ended. */
static void turn_role(struct ctl *ctl, struct live_job *job, uint32_t role)
{
    for (uint32_t i = 0; i < job->row.tasks; i++)
        if (job->tasks[i].place.role == role)
            settle_turn(ctl, job, i);
}

/* Was it a failure that its node may be to blame for? */
static bool counts_for_node(const struct attempt_outcome *end)
{
    enum end_class class = end->words.class;
    return class == END_UNKNOWN || class == END_USER ||
           (class == END_PLATFORM && !end->ending->lost);
}

/* It went well by itself before it could be ended: what has finished does not run again. */
static bool ended_first(const struct attempt_outcome *end)
{
    return end->words.class == END_SUCCESS && end->ending->by == BY_ITSELF;
}

/* It failed where it is: perhaps once too often. */
static void avoid(struct ctl *ctl, struct live_job *job, uint32_t flat)
{
    struct reason why = {
        .kind = REASON_AVOIDS, .job = job, .flat = flat, .most = (uint32_t)job->notes.avoid.n
    };
    enum avoidance answer = avoid_count(ctl->cluster, job, flat);
    why.n = job->tasks[flat].failed_times;
    if (answer == AVOID_NO_MORE) {
        why.kind = REASON_LEFT_ENOUGH;
        settle_close(ctl, job, OUTCOME_FAILED, BY_POLICY, &why);
    } else if (answer == AVOID_NODE) {
        event_job_row(ctl, job);
        event_task_note(ctl, job, flat, "avoid", &why, NULL);
    }
}

/* Does the attempt lead to another one in this generation? Then that one is on its way. */
static bool goes_on(struct ctl *ctl, struct live_job *job, const struct attempt_outcome *end,
                    const struct reason *what)
{
    struct live_task *task = &job->tasks[end->flat];
    enum end_class class = end->words.class;
    struct retry_decision decision = { .answer = RETRY_NOW, .next = task->attempt + 1 };
    bool asked = task->turned;
    if (!asked && !live_closing(job) && counts_for_node(end))
        avoid(ctl, job, end->flat);
    live_set_turned(job, task, false);
    if (live_closing(job) || (asked && ended_first(end)))
        return false;
    if (!asked) {
        if (task->unstartable || !restarts_in_place(job, task->place.role, class))
            return false;
        const struct retry_counts used = used_so_far(job, end->flat);
        decision = retry_decide(&job->spec->retry, &used, class);
        if (decision.answer == RETRY_NO)
            return false;
        retry_count_one(&task->used, class);
    }
    death_forget(job, end->flat);
    task->unstartable = false;
    retry_task(ctl, job, end, &decision, what);
    if (!asked && class != END_SUCCESS && scope_of(job, task->place.role) == RETRY_SCOPE_ROLE)
        turn_role(ctl, job, task->place.role);
    return true;
}

static struct attempt_outcome judge(struct ctl *ctl, const struct live_job *job,
                                    const struct attempt_end *at)
{
    struct attempt_outcome end = { .ending = at->ending,
                                   .remark = at->remark,
                                   .words = dialect_classify(ctl->config.dialects, job->spec,
                                                             at->ending),
                                   .at_ms = at->at_ms,
                                   .wakeup = at->wakeup,
                                   .flat = at->flat };
    if (job->tasks[at->flat].unstartable && end.words.class == END_UNKNOWN)
        end.words.class = END_USER; /* sure to fail again */
    return end;
}

static struct reason how_it_ended(const struct live_job *job, const struct attempt_outcome *end)
{
    return (struct reason){ .kind = REASON_ENDED,
                            .job = job,
                            .flat = end->flat,
                            .ending = end->ending,
                            .text = end->remark };
}

/* Would such an end lead to another attempt? */
static bool comes_again(const struct live_job *job, const struct attempt_outcome *end)
{
    const struct live_task *task = &job->tasks[end->flat];
    if (task->turned || task->unstartable || live_closing(job) ||
        !restarts_in_place(job, task->place.role, end->words.class))
        return task->turned;
    const struct retry_counts used = used_so_far(job, end->flat);
    return retry_decide(&job->spec->retry, &used, end->words.class).answer != RETRY_NO;
}

void settle_death(struct ctl *ctl, struct live_job *job, const struct attempt_end *at)
{
    const struct attempt_outcome end = judge(ctl, job, at);
    if (comes_again(job, &end))
        return;
    const struct reason what = how_it_ended(job, &end);
    note_death(ctl, job, &end, &what);
}

void settle_attempt(struct ctl *ctl, struct live_job *job, const struct attempt_end *at)
{
    struct live_task *task = &job->tasks[at->flat];
    const struct attempt_outcome end = judge(ctl, job, at);
    const struct reason what = how_it_ended(job, &end);
    task->attempt_state = attempt_outcome(&end);
    task->end_asked = false;
    event_attempt_row(ctl, job, at->flat, at);
    if (end.words.class == END_CONFLICT)
        block_ports(ctl, job, at->flat);
    if (!goes_on(ctl, job, &end, &what))
        end_task(ctl, job, &end, &what);
}

/* ---- the job ---- */

/* A role that restarts as a whole begins when the last of it has ended: by role, in scratch. */
static const bool *waiting_roles(const struct ctl *ctl, const struct live_job *job)
{
    bool *waits = ARENA_ARRAY(ctl->scratch, job->spec->n_roles, bool);
    for (uint32_t i = 0; job->turned && i < job->row.tasks; i++)
        if (job->tasks[i].turned)
            waits[job->tasks[i].place.role] = true;
    for (uint32_t i = 0; i < job->spec->n_roles; i++)
        waits[i] = waits[i] && scope_of(job, i) == RETRY_SCOPE_ROLE;
    return waits;
}

/* A slice at a time. What has been given a place by a plan waits for nothing else. */
static void settle_again(struct ctl *ctl, struct live_job *job)
{
    uint64_t now = core_now(ctl);
    if (live_in_phase(job, PHASE_ASSIGNED) + live_in_phase(job, PHASE_BACKOFF) == 0)
        return;
    uint32_t seq = job->launch_seq + 1;
    bool placing = job->notes.placing;
    const bool *waits = waiting_roles(ctl, job);
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        bool backs_off = task->phase == PHASE_BACKOFF;
        if ((!backs_off && task->phase != PHASE_ASSIGNED) ||
            (backs_off && waits[task->place.role]) || task->not_before_ms > now)
            continue;
        if (ctl->slices.rows == 0) {
            slices_later(ctl, job);
            return;
        }
        planning_place(ctl, job, flat, seq);
    }
    if (placing) {
        job->notes.placing = false;
        event_job_row(ctl, job);
        launch_say_left_out(ctl, job);
    }
}

/* What ended tasks keep for the end of the job goes to those of it that still want a place: it
 * would wait for itself. */
static void give_ended(struct ctl *ctl, struct live_job *job)
{
    if (live_in_phase(job, PHASE_UNPLACED) == 0 || !keeps_place(job->spec, TASK_EV_FAIL))
        return;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        if (!task->taken || !task_state_final(task->state))
            continue;
        give(ctl, job, task);
        task->gave = true;
        event_task_row(ctl, job, flat);
    }
}

static uint32_t up_of(const struct live_job *job, const char *role)
{
    uint32_t position;
    return job_role(job->spec, role, &position) ? job->up[position] : 0;
}

/* In a gang that counts over its roles? Then the sum decides, not each role. */
static bool counted(const struct job_spec *spec, const char *role)
{
    for (size_t i = 0; i < spec->n_gangs; i++)
        for (size_t k = 0; spec->gangs[i].min && k < spec->gangs[i].roles.n; k++)
            if (strcmp(spec->gangs[i].roles.at[k], role) == 0)
                return true;
    return false;
}

static bool all_up(const struct live_job *job)
{
    const struct job_spec *spec = job->spec;
    for (size_t i = 0; i < spec->n_roles; i++)
        if (job->up[i] < spec->roles[i].min && !counted(spec, spec->roles[i].name))
            return false;
    for (size_t i = 0; i < spec->n_gangs; i++) {
        uint32_t up = 0;
        for (size_t k = 0; k < spec->gangs[i].roles.n; k++)
            up += up_of(job, spec->gangs[i].roles.at[k]);
        if (up < spec->gangs[i].min)
            return false;
    }
    return true;
}

/* Tasks beyond the least of an elastic job come later, or never. What the job says of itself counts
 * them again as they come, and the last one is an event: nothing more is waited for. */
static void count_up(struct ctl *ctl, struct live_job *job, uint32_t up, const struct reason *why)
{
    if (job->notes.partly_up == 0 || up <= job->notes.partly_up)
        return;
    job->notes.partly_up = up < job->row.tasks ? up : 0;
    event_say(job, why);
    event_job_row(ctl, job);
    if (!job->notes.partly_up)
        event_job_note(ctl, job, "complete", why);
}

void settle_running(struct ctl *ctl, struct live_job *job)
{
    uint32_t up = 0;
    if (job->fails_now || !all_up(job))
        return;
    for (size_t i = 0; i < job->spec->n_roles; i++)
        up += job->up[i];
    const struct reason why = { .kind = REASON_UP, .n = up, .most = job->row.tasks };
    if (job->row.state == JOB_RUNNING)
        count_up(ctl, job, up, &why);
    enum job_event event = job->row.state == JOB_STARTING ? JOB_EV_STARTED : JOB_EV_RECOVERED;
    if (job_next_state(job->row.state, event) == JOB_NONE)
        return;
    if (job->row.started_ms == 0) {
        job->row.started_ms = core_date(ctl);
        job->notes.began_ms = core_now(ctl);
        /* A limit is exact; what else is reckoned from it is not, and keeps its row lean. */
        job->notes.dates_differ = job->spec->limits.run_time_ms.has
                                      ? job->row.started_ms != job->notes.began_ms
                                      : clocks_differ(job->row.started_ms, job->notes.began_ms);
    }
    if (job->spec->limits.run_time_ms.has)
        core_deadline(ctl, job, job->notes.began_ms + job->spec->limits.run_time_ms.value);
    job->notes.partly_up = up < job->row.tasks ? up : 0;
    event_job(ctl, job, event, &why, NULL);
}

static uint64_t hold_for(const struct job_spec *spec, enum job_outcome outcome)
{
    if (outcome != OUTCOME_FAILED && outcome != OUTCOME_SUCCEEDED)
        return 0;
    bool failed = outcome == OUTCOME_FAILED;
    if (failed && spec->health.debug_hold)
        return spec->limits.hold_ms ? spec->limits.hold_ms : DEBUG_HOLD_MS;
    const char *when = spec->limits.hold_when;
    if (!when || strcmp(when, "always") == 0 || strcmp(when, failed ? "failure" : "success") == 0)
        return spec->limits.hold_ms;
    return 0;
}

void settle_close(struct ctl *ctl, struct live_job *job, enum job_outcome outcome,
                  enum end_origin by, const struct reason *reason)
{
    uint64_t hold = job->spec ? hold_for(job->spec, outcome) : 0;
    struct text_node *body = text_map(ctl->scratch, NULL, NULL);
    job->row.outcome = outcome;
    job->notes.end_by = by;
    job->notes.hold_until_ms = hold ? core_now(ctl) + hold : 0;
    if (hold) {
        core_deadline(ctl, job, job->notes.hold_until_ms);
        text_int(ctl->scratch, body, "hold_until_ms",
                 (int64_t)core_date_of(ctl, job->notes.hold_until_ms));
    }
    text_str(ctl->scratch, body, "outcome", job_outcome_word(outcome));
    if (outcome == OUTCOME_FAILED && job->notes.first.n)
        row_json_put_words(ctl->scratch, body, "first", &job->notes.first);
    event_job(ctl, job, JOB_EV_CLOSING, reason, body);
}

/* The generation is ended to begin anew. */
static void restart(struct ctl *ctl, struct live_job *job, const struct retry_decision *decision,
                    const struct reason *what)
{
    uint64_t delay = unhurried(ctl, job->row.restarts, job->notes.began_ms, decision->delay_ms);
    if (job->row.started_ms == 0 && job->notes.first_class == END_PLATFORM)
        delay = paced(&(struct live_task){ .started_ms = 0 }, &(struct ending){ .by = BY_PLATFORM },
                      job->notes.used.platform, delay);
    const struct reason why = again(what, decision, delay);
    job->row.outcome = OUTCOME_REQUEUED;
    job->row.restarts++;
    job->row.not_before_ms = delay ? core_now(ctl) + delay : 0;
    job->notes.end_by = BY_POLICY;
    event_job(ctl, job, JOB_EV_RESTART, &why, NULL);
}

bool settle_restart(struct ctl *ctl, struct live_job *job, enum end_class class, bool counted,
                    const struct reason *what)
{
    struct retry_decision decision = { .answer = RETRY_NOW, .next = job->row.restarts + 2 };
    if (counted)
        decision = retry_decide(&job->spec->retry, &job->notes.used, class);
    if (decision.answer == RETRY_NO)
        return false;
    restart(ctl, job, &decision, what);
    if (counted)
        retry_count_one(&job->notes.used, class);
    event_job_row(ctl, job);
    return true;
}

/* At no cost in retries. */
static void requeue(struct ctl *ctl, struct live_job *job, const struct reason *reason,
                    struct text_node *body)
{
    job->row.outcome = OUTCOME_REQUEUED;
    job->row.not_before_ms = 0;
    job->notes.end_by = BY_POLICY;
    event_job(ctl, job, JOB_EV_RESTART, reason, body);
}

void settle_evict(struct ctl *ctl, struct live_job *job, uint64_t by, const struct reason *reason)
{
    struct text_node *body = text_map(ctl->scratch, NULL, NULL);
    if (by)
        text_int(ctl->scratch, body, EVICTED_FOR, (int64_t)by);
    ctl->counters.evicted++;
    requeue(ctl, job, reason, body);
}

/* The server ended, or a commit failed, before all of its places were recorded. Nothing of it was
 * started, and others may have been given what was not recorded: it waits again. */
static void settle_cut_off(struct ctl *ctl, struct live_job *job)
{
    requeue(ctl, job, &(struct reason){ .kind = REASON_CUT_OFF }, NULL);
}

/* Nothing of the attempt was launched: another one follows elsewhere. */
static void withdraw_task(struct ctl *ctl, struct live_job *job, uint32_t flat, const char *why)
{
    const struct ending ending = { .by = BY_POLICY, .tail = "" };
    settle_turn(ctl, job, flat);
    settle_attempt(ctl, job,
                   &(struct attempt_end){
                       .flat = flat, .ending = &ending, .remark = why, .at_ms = core_date(ctl) });
}

/* Devices that are not given out any more are taken back from what is still to be launched there,
 * at no cost in retries. A generation of which nothing was launched waits again as a whole, so that
 * it holds nothing meanwhile. */
static void settle_withdrawn(struct ctl *ctl, struct live_job *job)
{
    bool untouched = job->launch_seq == 1; /* its first round of launches */
    if (live_in_phase(job, PHASE_PLACED) == 0)
        return;
    for (size_t i = 0; i < job->agents.n; i++)
        untouched = untouched && !job->agents.at[i].launched;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        const char *shut =
            live_untold(task) ? closed_in_place(ctl->closed_devices, &task->place) : NULL;
        const char *why = shut ? arena_strdup(ctl->scratch, shut) : NULL;
        if (why && untouched) {
            requeue(ctl, job, &(struct reason){ .kind = REASON_SAID, .text = why }, NULL);
            return;
        }
        if (why)
            withdraw_task(ctl, job, flat, why);
    }
}

/* Launchers know which of their ranks it was, and end all at the same time when it is over. */
static void ask_launchers(struct ctl *ctl, struct live_job *job)
{
    uint32_t flat;
    const char *clause = rdzv_table_root(ctl->rdzv_table, job, job->first, &flat);
    if (clause)
        deaths_name_root(job, flat, clause);
    job->notes.first_decides = true;
}

static void decide(struct ctl *ctl, struct live_job *job, const struct verdict *verdict)
{
    bool failed = verdict->outcome == OUTCOME_FAILED, named = failed && job->notes.first.n > 0;
    enum end_class class = !failed ? END_SUCCESS : named ? job->notes.first_class : END_UNKNOWN;
    uint32_t role = named ? job->tasks[job->first].place.role : verdict->role;
    if (named)
        ask_launchers(ctl, job);
    const struct reason why = { .kind = named ? REASON_FIRST : REASON_VERDICT,
                                .job = job,
                                .verdict = verdict };
    enum retry_scope scope = failed ? scope_of(job, role) : job->spec->retry.scope;
    bool anew = scope == RETRY_SCOPE_JOB || class == END_CONFLICT;
    if (anew && settle_restart(ctl, job, class, true, &why))
        return;
    settle_close(ctl, job, verdict->outcome, BY_POLICY, &why);
}

static void settle_give_all(struct ctl *ctl, struct live_job *job)
{
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++)
        give(ctl, job, &job->tasks[flat]);
}

/* Its records go with the next that have been kept long enough: now. */
static void drop_soon(struct ctl *ctl, const struct live_job *job, uint64_t now)
{
    store_set_keep(ctl->config.store, job->row.id, now, NULL);
    ctl->expire_at = now;
    core_wake(ctl, now);
}

void settle_end(struct ctl *ctl, struct live_job *job, enum job_event event,
                const struct reason *reason)
{
    enum job_state next = job_next_state(job->row.state, event);
    uint64_t now = core_now(ctl);
    uint64_t keep = ctl->config.keep_ms;
    if (job->spec && job->spec->limits.keep_ms.has)
        keep = job->spec->limits.keep_ms.value;
    job->row.outcome = OUTCOME_NONE;
    job->notes.hold_until_ms = 0;
    job->notes.placing = job->cut_off = false;
    job->notes.end_by = BY_NONE;
    job->notes.force = false;
    job->stop_sent = STOP_NONE;
    if (job_state_final(next))
        job->row.ended_ms = core_date(ctl);
    event_job(ctl, job, event, reason, NULL);
    core_clear_board(ctl, job);
    if (job_state_final(job->row.state)) {
        struct job_row ran = job->row;
        if (job->notes.began_ms) /* for so long, whatever the dates are */
            ran.ended_ms = ran.started_ms + (now - job->notes.began_ms);
        run_times_ended(ctl->run_times, &ran);
        if (job->notes.drop)
            drop_soon(ctl, job, now);
        else if (!job->row.array) /* members are kept as long as their array */
            store_set_keep(ctl->config.store, job->row.id, keep ? now + keep : 0, NULL);
        depend_ended(ctl->dependencies, job->row.id);
    }
}

/* An agent the engine was never told of (the server died between commit and call) has nothing to
 * release: it goes in the same commit in which the end is decided, and comes back when that fails.
 */
static void forget_unlaunched(struct ctl *ctl, struct live_job *job)
{
    for (size_t i = job->agents.n; i-- > 0;)
        if (!job->agents.at[i].launched) {
            vec_push(&job->forgotten, job->agents.at[i]);
            facts_drop_agent(ctl, job, &job->agents.at[i]);
        }
}

/* Places that it was given, and that no row has when its end is decided. */
static void give_assigned(struct ctl *ctl, struct live_job *job)
{
    for (uint32_t flat = 0; live_in_phase(job, PHASE_ASSIGNED) > 0 && flat < job->row.tasks;
         flat++) {
        struct live_task *task = &job->tasks[flat];
        if (task->phase != PHASE_ASSIGNED)
            continue;
        give(ctl, job, task);
        task->place = task->last ? *task->last
                                 : (struct task_place){ .role = task->place.role,
                                                        .index = task->place.index,
                                                        .node = "",
                                                        .address = "" };
        task->last = NULL;
        live_set_phase(job, task, PHASE_UNPLACED);
    }
}

/* Closing, and nothing of it is left anywhere: the tasks that never began are stopped, places are
 * free, the outcome is a fact. */
static void finish(struct ctl *ctl, struct live_job *job)
{
    const struct ending ending = { .by = job->notes.end_by, .cause = CAUSE_UNSTARTED, .tail = "" };
    const struct attempt_end end = { .ending = &ending, .at_ms = core_date(ctl) };
    give_assigned(ctl, job);
    forget_unlaunched(ctl, job);
    if (job->agents.n > 0)
        return;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        if (task_state_final(task->state))
            continue;
        if (ctl->slices.rows == 0) {
            slices_later(ctl, job);
            return;
        }
        slices_spend(&ctl->slices.rows, 1);
        task->gave = task->gave || task->phase == PHASE_UNPLACED; /* what its last attempt had */
        live_set_phase(job, task, PHASE_OVER);
        if (live_attempt(task)) {
            task->attempt_state = ATTEMPT_STOPPED;
            event_attempt_row(ctl, job, flat, &end);
        }
        event_task(ctl, job, flat, TASK_EV_STOP);
        event_task_row(ctl, job, flat);
    }
    settle_give_all(ctl, job);
    settle_end(ctl, job, job_outcome_event(job->row.outcome), NULL);
}

static void write_agents(struct ctl *ctl, struct live_job *job)
{
    for (size_t i = 0; i < job->agents.n; i++) {
        struct live_agent *agent = &job->agents.at[i];
        if (!agent->changed)
            continue;
        struct agent_row row = { .job = job->row.id,
                                 .generation = job->row.generation,
                                 .launch_seq = agent->launch_seq,
                                 .node = agent->node,
                                 .last_seq = agent->last_seq,
                                 .state = agent->state };
        memcpy(row.token_hash, agent->token_hash, sizeof row.token_hash);
        store_put_agent(ctl->config.store, &row, NULL);
        agent->changed = false;
    }
}

/* Tasks died because another was gone, and none has said yet that it went. */
static bool waits_for_cause(const struct ctl *ctl, const struct live_job *job)
{
    return core_now(ctl) < deaths_wait(job);
}

/* Enough tasks have ended well, and the launchers of others were told that all ranks have: asked to
 * end now, they would end by a signal. The job's grace is the time that they have. */
static bool waits_for_launchers(struct ctl *ctl, struct live_job *job)
{
    if (!rdzv_table_ending(ctl->rdzv_table, job))
        return false;
    if (!job->won_ms)
        job->won_ms = core_now(ctl);
    return core_now(ctl) < job->won_ms + job->spec->limits.grace_ms;
}

static bool have_met(const void *table, const struct live_job *job, uint32_t role)
{
    return rdzv_table_done(table, job, role);
}

void settle_job(struct ctl *ctl, struct live_job *job)
{
    const struct silence_peers others = { ctl->rdzv_table, have_met };
    if (!job->ending && job_state_holds(job->row.state) && job->tasks && core_spec(ctl, job)) {
        if (job->cut_off && !live_closing(job))
            settle_cut_off(ctl, job);
        if (!live_closing(job)) {
            struct verdict verdict = silence_verdict(job, ctl->scratch, others);
            if (verdict.outcome == OUTCOME_FAILED && waits_for_cause(ctl, job)) {
                core_deadline(ctl, job, deaths_wait(job));
            } else if (verdict.outcome == OUTCOME_SUCCEEDED && waits_for_launchers(ctl, job)) {
                core_deadline(ctl, job, job->won_ms + job->spec->limits.grace_ms);
            } else if (verdict.outcome != OUTCOME_NONE) {
                decide(ctl, job, &verdict);
            } else {
                settle_again(ctl, job);
                settle_withdrawn(ctl, job);
                give_ended(ctl, job);
                settle_running(ctl, job);
            }
        }
        if (live_closing(job))
            finish(ctl, job);
    }
    job->fails_now = false;
    core_wants(ctl, job);
    write_agents(ctl, job);
}
