/* What must hold, step by step, after each start and at the end (trial.h has the list). Reads the
 * core's state and the records; the first thing that is wrong is kept. */
#include "ctl/test/faults/trial.h"

#include "answer/state_text.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/tape.h"
#include "live/row_json.h"
#include "sched/cluster.h"
#include "store/find.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_AGAIN 40u /* of those seen last: what a crash takes is the end */
#define EVENTS_READ  500u
#define CONFLICTS    2u /* retries of every submission of clients.c */

/* ---- the state as text ---- */

/* What a restart finds out anew: whether nodes are up, where ports are looked for next, and which
 * ids were drawn for what was never committed. */
static void cut_words(char *text, const char *word)
{
    char *at = text;
    while ((at = strstr(at, word))) {
        char *end = at + strlen(word);
        while (*end && *end != ' ' && *end != '\n')
            end++;
        memmove(at, end, strlen(end) + 1);
    }
}

void check_state(struct trial *t, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT((size_t)1 << 24);
    answer_state_text(t->ctl, &text);
    AUTO_FREE char *all = buf_take(&text);
    cut_words(all, " up=");
    cut_words(all, " port=");
    cut_words(all, "last job=");
    buf_puts(out, all);
}

/* ---- after each step ---- */

struct given {
    uint64_t cpu_milli, gpu_milli;
    uint32_t tasks;
};

static void add_given(const struct ctl *ctl, const struct live_job *job, struct given *nodes)
{
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        const struct role *role = &job->spec->roles[task->place.role];
        uint32_t node = task->taken ? cluster_find(ctl->cluster, task->place.node) : UINT32_MAX;
        if (node == UINT32_MAX)
            continue;
        nodes[node].cpu_milli += role->resources.cpu_milli;
        nodes[node].gpu_milli += role->resources.gpu_milli;
        nodes[node].tasks++;
    }
}

static void check_nodes(struct trial *t)
{
    struct given nodes[AGENT_NODES] = { 0 };
    struct live_job *job;
    size_t cursor = 0;
    while (live_next(t->ctl->live, &cursor, &job))
        add_given(t->ctl, job, nodes);
    for (uint32_t i = 0; i < cluster_count(t->ctl->cluster); i++) {
        const struct node_view node = cluster_node(t->ctl->cluster, i);
        if (node.cpu_used != nodes[i].cpu_milli || node.gpu_used_milli != nodes[i].gpu_milli ||
            node.tasks != nodes[i].tasks)
            trial_wrong(t, "node %s counts %u tasks with %llu cpu, its tasks are %u with %llu",
                        node.spec->name, node.tasks, (unsigned long long)node.cpu_used,
                        nodes[i].tasks, (unsigned long long)nodes[i].cpu_milli);
        bool more =
            node.cpu_used > node.spec->cpu_milli || node.gpu_used_milli > 1000 * node.spec->gpus;
        if (more && !node.spec->gone)
            trial_wrong(t, "node %s: more is given than it has", node.spec->name);
    }
}

/* What a task is said to be in several ways is the same. */
static void check_task(struct trial *t, const struct live_job *job, uint32_t flat)
{
    const struct live_task *task = &job->tasks[flat];
    const char *wrong = NULL;
    if (phase_lives(task->phase) != live_attempt(task))
        wrong = "of its attempt";
    else if ((task->phase == PHASE_RUNNING) != (task->state == TASK_RUNNING) ||
             (task->phase == PHASE_RUNNING) != (task->attempt_state == ATTEMPT_RUNNING))
        wrong = "of whether it runs";
    else if (live_again(task) && task->state != TASK_WAITING)
        wrong = "of what follows";
    else if (live_attempt(task) && !task->taken)
        wrong = "of its place, which its node does not count";
    if (wrong)
        trial_wrong(t, "task %u of job %llu is %s, in phase %s: not so %s", flat,
                    (unsigned long long)job->row.number, task_state_word(task->state),
                    phase_word(task->phase), wrong);
}

/* The counts that a job goes by are those of its tasks. */
static void check_counts(struct trial *t)
{
    struct live_job *job;
    size_t cursor = 0;
    while (live_next(t->ctl->live, &cursor, &job)) {
        uint32_t up[WORK_ROLES] = { 0 }, taken[WORK_ROLES] = { 0 }, phases[PHASE_N] = { 0 };
        struct role_tally tally[WORK_ROLES] = { 0 };
        uint32_t turned = 0;
        for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++) {
            const struct live_task *task = &job->tasks[flat];
            up[task->place.role] += live_was_up(task);
            check_task(t, job, flat);
            taken[task->place.role] += task->taken;
            tally[task->place.role].succeeded += task->state == TASK_SUCCEEDED;
            tally[task->place.role].failed += task->state == TASK_FAILED;
            tally[task->place.role].stopped += task->state == TASK_STOPPED;
            phases[task->phase]++;
            turned += task->turned;
        }
        bool same = turned == job->turned;
        for (unsigned i = 0; i < PHASE_N; i++)
            same = same && phases[i] == live_in_phase(job, (enum task_phase)i);
        for (uint32_t i = 0; job->tasks && i < job->spec->n_roles; i++)
            same = same && up[i] == job->up[i] && taken[i] == job->taken[i] &&
                   memcmp(&tally[i], &job->tally[i], sizeof tally[i]) == 0;
        if (!same)
            trial_wrong(t,
                        "job %llu counts %u that run, %u unplaced, %u turned, up %u: it is %u, "
                        "%u, %u, %u",
                        (unsigned long long)job->row.number, live_in_phase(job, PHASE_RUNNING),
                        live_in_phase(job, PHASE_UNPLACED), job->turned, job->up ? job->up[0] : 0,
                        phases[PHASE_RUNNING], phases[PHASE_UNPLACED], turned, up[0]);
    }
}

static void check_agents(struct trial *t)
{
    for (size_t i = 0; i < t->agents.at.n; i++) {
        const struct sim_agent *a = t->agents.at.at[i];
        const struct live_job *job = live_find(t->ctl->live, a->generation.job);
        if (a->dead || a->released)
            continue;
        if (!job || job->row.generation != a->generation.number || !job_state_holds(job->row.state))
            trial_wrong(t, "an agent of job %llx generation %u lives, the job %s",
                        (unsigned long long)a->generation.job, a->generation.number,
                        !job                                          ? "has ended"
                        : job->row.generation != a->generation.number ? "is in another"
                                                                      : "holds nothing");
    }
}

static void check_waiting(struct trial *t)
{
    struct live_job *job;
    size_t cursor = 0;
    while (live_next(t->ctl->live, &cursor, &job))
        if (job->row.state == JOB_QUEUED && !*live_reason(job).text)
            trial_wrong(t, "job %llu waits, and nothing says why",
                        (unsigned long long)job->row.number);
}

static void check_stopped(struct trial *t)
{
    for (size_t i = 0; i < t->clients.n; i++) {
        const struct work *work = &t->clients.works[i];
        for (uint32_t k = 0; work->stopped && k <= work->members; k++) {
            const struct live_job *job = live_find(t->ctl->live, work->id + k);
            if (job && job->row.state != JOB_STOPPING && !job_state_final(job->row.state))
                trial_wrong(t, "%s was stopped, and job %llu is %s", work->name,
                            (unsigned long long)job->row.number, job_state_word(job->row.state));
        }
    }
}

/* A limit is over when the core has not asked to be woken for it. */
static void check_limits(struct trial *t)
{
    uint64_t now = core_now(t->ctl);
    struct live_job *job;
    size_t cursor = 0;
    if (t->wakes && t->due_us <= t->mono_us)
        return;
    while (live_next(t->ctl->live, &cursor, &job)) {
        const struct job_spec *spec = job_state_holds(job->row.state) ? job->spec : NULL;
        uint64_t pending = job->notes.pending_until_ms, began = job->notes.began_ms;
        if (spec && spec->limits.run_time_ms.has && began && !live_closing(job) &&
            now > began + spec->limits.run_time_ms.value)
            trial_wrong(t, "job %llu runs beyond its limit", (unsigned long long)job->row.number);
        if (pending && job->row.state == JOB_QUEUED && !job->row.generation && now > pending)
            trial_wrong(t, "job %llu waits beyond its limit", (unsigned long long)job->row.number);
    }
}

static bool is_closing(const struct event_row *row)
{
    return strcmp(row->type, job_event_word(JOB_EV_CLOSING)) == 0;
}

/* Several are read at once: what a job was ended for before belongs to a run that is over. */
static bool is_last_closing(const struct event_row *rows, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++)
        if (rows[k].job == rows[i].job && is_closing(&rows[k]))
            return false;
    return is_closing(&rows[i]);
}

static void check_time(struct trial *t, const struct event_row *rows, size_t n, size_t i)
{
    const struct event_row *row = &rows[i];
    const struct live_job *job = live_find(t->ctl->live, row->job);
    if (row->steady_ms < t->steady_ms)
        trial_wrong(t, "event %llu is %llu ms before the one before it",
                    (unsigned long long)row->seq,
                    (unsigned long long)(t->steady_ms - row->steady_ms));
    t->steady_ms = row->steady_ms;
    if (!job || !job->spec || job->notes.end_by != BY_LIMIT || !is_last_closing(rows, n, i))
        return;
    if (row->steady_ms < job->notes.began_ms + job->spec->limits.run_time_ms.value)
        trial_wrong(t, "job %llu is ended before its limit", (unsigned long long)job->row.number);
}

static uint64_t event_hash(const struct event_row *row)
{
    static const struct hash_seed seed = { { 3, 4 } };
    uint64_t hash = hash_bytes(seed, row->type, strlen(row->type));
    hash = hash_u64(hash + row->at_ms) + row->attempt;
    return row->body ? hash ^ hash_bytes(seed, row->body, strlen(row->body)) : hash;
}

/* Jobs are called w0, w1 ... (clients.c). The other ones that an event is about are in no text: who
 * reads it need not be who may read them. */
static void check_named(struct trial *t, struct arena *arena, const struct event_row *row)
{
    struct job_row job;
    const char *text = row->body ? row->body : "";
    for (const char *at = text; row->job && (at = strchr(at, 'w')); at++) {
        size_t n = strspn(at + 1, "0123456789");
        bool word = n && (at == text || !isalnum((unsigned char)at[-1])) &&
                    !isalnum((unsigned char)at[1 + n]);
        if (word && store_get_lean_job(t->store, arena, row->job, &job, NULL) == 1 &&
            (strlen(job.name) != 1 + n || strncmp(job.name, at, 1 + n) != 0))
            trial_wrong(t, "event %llu names another job: %s", (unsigned long long)row->seq, text);
    }
}

/* What a follower sees now, for later. */
static void see_events(struct trial *t)
{
    struct arena *arena = arena_create();
    struct event_row *rows;
    size_t n = 0;
    struct event_range range = { .after = t->seen.n ? t->seen.at[t->seen.n - 1].seq : 0,
                                 .limit = EVENTS_READ };
    if (store_events(t->store, arena, &range, &rows, &n, NULL) == 0)
        for (size_t i = 0; i < n; i++) {
            trial_say(t, "  event %llu: %llx %s %u/%u %s", (unsigned long long)rows[i].seq,
                      (unsigned long long)rows[i].job, rows[i].type, rows[i].task.role,
                      rows[i].task.index, rows[i].body ? rows[i].body : "");
            if (strcmp(rows[i].type, "refused") == 0)
                trial_wrong(t, "job %llx: an event was refused: %s",
                            (unsigned long long)rows[i].job, rows[i].body);
            check_time(t, rows, n, i);
            check_named(t, arena, &rows[i]);
            vec_push(&t->seen,
                     ((struct seen_event){
                         .seq = rows[i].seq, .job = rows[i].job, .hash = event_hash(&rows[i]) }));
        }
    arena_destroy(arena);
}

void check_step(struct trial *t)
{
    if (!t->ctl || t->crash.dead)
        return;
    if (*t->agents.wrong)
        trial_wrong(t, "%s", t->agents.wrong);
    if (*t->clients.wrong)
        trial_wrong(t, "%s", t->clients.wrong);
    const struct strayed *strayed = &t->bench->hooks.strayed;
    if (strayed->from != strayed->to)
        trial_wrong(t, "a task went from phase %s to %s, which may not follow",
                    phase_word(strayed->from), phase_word(strayed->to));
    if (!turn_idle(t->ctl) || t->ctl->unwritten)
        return;
    if (store_last_event(t->store) != (t->seen.n ? t->seen.at[t->seen.n - 1].seq : 0))
        see_events(t);
    check_nodes(t);
    check_counts(t);
    check_agents(t);
    if (t->ctl->facts.n == 0)
        check_silence(t);
    check_stopped(t);
    check_limits(t);
    if (!t->ctl->plan_due)
        check_waiting(t);
}

/* ---- after each start ---- */

static bool is_gone(struct trial *t, struct arena *arena, uint64_t job)
{
    struct job_row row;
    return job && store_get_lean_job(t->store, arena, job, &row, NULL) == 0;
}

static void check_events(struct trial *t, size_t from)
{
    struct arena *arena = arena_create();
    struct event_row *rows;
    size_t n = 0, at = 0;
    struct event_range range = { .limit = t->seen.n - from };
    if (t->seen.n == from) {
        arena_destroy(arena);
        return;
    }
    range.after = t->seen.at[from].seq - 1;
    if (store_events(t->store, arena, &range, &rows, &n, NULL))
        trial_wrong(t, "events cannot be read");
    for (size_t i = from; i < t->seen.n; i++) {
        const struct seen_event *seen = &t->seen.at[i];
        while (at < n && rows[at].seq < seen->seq)
            at++;
        bool there = at < n && rows[at].seq == seen->seq;
        if (there && event_hash(&rows[at]) != seen->hash)
            trial_wrong(t, "event %llu is another one than was seen",
                        (unsigned long long)seen->seq);
        if (!there && !is_gone(t, arena, seen->job))
            trial_wrong(t, "event %llu was seen and is gone", (unsigned long long)seen->seq);
    }
    arena_destroy(arena);
}

static void check_work(struct trial *t, const struct work *work)
{
    uint64_t id = 0;
    bool there = store_find_number(t->store, work->number, &id) == 1;
    if (there && work->deleted)
        trial_wrong(t, "%s was deleted and is there", work->name);
    if (!there && !work->delete_asked)
        trial_wrong(t, "%s was acknowledged as job %llu and is gone", work->name,
                    (unsigned long long)work->number);
    if (there && id != work->id)
        trial_wrong(t, "%s was acknowledged as job %llu, which is another one", work->name,
                    (unsigned long long)work->number);
}

static void check_failed(struct trial *t, const struct work *work)
{
    uint64_t id = 0;
    if (work->failed && store_find_name(t->store, work->name, work->owner, &id) == 1)
        trial_wrong(t, "the submission of %s failed, and it is there", work->name);
}

static void check_works(struct trial *t)
{
    for (size_t i = 0; i < t->clients.n; i++)
        if (t->clients.works[i].acknowledged)
            check_work(t, &t->clients.works[i]);
        else
            check_failed(t, &t->clients.works[i]);
    if (turn_idle(t->ctl)) /* else members of arrays may still be told */
        check_stopped(t);
}

void check_start(struct trial *t)
{
    check_events(t, t->seen.n > EVENTS_AGAIN ? t->seen.n - EVENTS_AGAIN : 0);
    check_works(t);
}

/* ---- at the end ---- */

/* An attempt ended as its agent saw it, or was lost with it. */
static void check_attempt(struct trial *t, const struct attempt_row *row)
{
    const struct truth *truth = agents_truth(&t->agents, row->job, row->ref, row->attempt);
    if (!attempt_state_final(row->state))
        trial_wrong(t, "attempt %u of job %llx is %s at the end", row->attempt,
                    (unsigned long long)row->job, attempt_state_word(row->state));
    else if (!truth && row->started_ms)
        trial_wrong(t, "attempt %u of job %llx has started and never began", row->attempt,
                    (unsigned long long)row->job);
    else if (truth && !truth->ended)
        trial_wrong(t, "attempt %u of job %llx has ended and lives", row->attempt,
                    (unsigned long long)row->job);
    else if (truth && truth->by_death && row->state == ATTEMPT_SUCCEEDED)
        trial_wrong(t, "attempt %u of job %llx was lost and has succeeded", row->attempt,
                    (unsigned long long)row->job);
    else if (truth && row->ending.exited && (!truth->exited || truth->code != row->ending.code) &&
             !truth->by_death)
        trial_wrong(t, "attempt %u of job %llx ended with %d, its agent saw %d", row->attempt,
                    (unsigned long long)row->job, row->ending.code, truth->code);
    else if (truth && truth->exited && row->ending.lost && !truth->late)
        trial_wrong(t, "the end of attempt %u of job %llx was seen and is not known", row->attempt,
                    (unsigned long long)row->job);
}

static bool of_one_role(const struct attempt_row *a, const struct attempt_row *b)
{
    return a->ref.role == b->ref.role && a->generation == b->generation;
}

/* A role that restarts as a whole has all of it replaced for one that failed or was lost, at no
 * cost in retries. One that fails by itself before it is ended for that is replaced all the same:
 * so many of its failures may have been such. */
static unsigned free_failures(const struct work *work, const struct attempt_row *rows, size_t n,
                              const struct attempt_row *of)
{
    unsigned others = 0;
    for (size_t i = 0; work->by_role[of->ref.role] && i < n; i++)
        others += of_one_role(&rows[i], of) && rows[i].ref.index != of->ref.index &&
                  (rows[i].state == ATTEMPT_FAILED || rows[i].state == ATTEMPT_LOST);
    return others;
}

/* Failures of a task in one generation that its own retries had to answer. */
static void check_budget(struct trial *t, const struct work *work, const struct attempt_row *rows,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned failures = 0, most = work->unknown + 1 + work->wishes;
        most += free_failures(work, rows, n, &rows[i]);
        for (size_t k = 0; k < n; k++)
            failures += of_one_role(&rows[k], &rows[i]) && rows[k].ref.index == rows[i].ref.index &&
                        rows[k].ending.exited && rows[k].ending.code == 1;
        if (failures > most)
            trial_wrong(t, "%s: %u failures of a task in a generation, %u retries", work->name,
                        failures, work->unknown);
    }
}

/* What the row of an ended job says of its tasks is what their rows say. */
static void check_tally(struct trial *t, const struct work *work, const struct job_row *row)
{
    struct arena *arena = arena_create();
    struct live_column notes = { 0 };
    struct task_counts counts = { 0 };
    row_json_read_job(arena, arena, row->live, &notes);
    if (notes.counted &&
        (store_task_counts(t->store, row, &counts, NULL) ||
         notes.ended.succeeded != counts.succeeded || notes.ended.failed != counts.failed))
        trial_wrong(t, "%s has %llu succeeded and %llu failed tasks, its row says %u and %u",
                    work->name, (unsigned long long)counts.succeeded,
                    (unsigned long long)counts.failed, notes.ended.succeeded, notes.ended.failed);
    arena_destroy(arena);
}

static void check_job(struct trial *t, const struct work *work, uint64_t id)
{
    struct arena *arena = arena_create();
    struct attempt_row *rows;
    struct job_row row;
    size_t n = 0;
    if (store_get_lean_job(t->store, arena, id, &row, NULL) != 1) {
        if (!work->delete_asked)
            trial_wrong(t, "job %llx of %s is in no record", (unsigned long long)id, work->name);
        arena_destroy(arena);
        return; /* deleted, as was looked at */
    }
    if (!job_state_final(row.state))
        trial_wrong(t, "%s (job %llu) is %s for ever: %s", work->name,
                    (unsigned long long)row.number, job_state_word(row.state), row.reason.text);
    else if (!row.members && !*row.reason.text)
        trial_wrong(t, "%s has %s, and nothing says why", work->name, job_state_word(row.state));
    if (strcmp(row.name, work->name) != 0)
        trial_wrong(t, "%s was acknowledged as job %llu, which is %s", work->name,
                    (unsigned long long)row.number, row.name);
    check_tally(t, work, &row);
    if (agents_runs(&t->agents, id))
        trial_wrong(t, "%s has ended, and something of it lives", work->name);
    if (store_attempts(t->store, arena, id, &rows, &n, NULL))
        trial_wrong(t, "attempts cannot be read");
    for (size_t i = 0; i < n; i++)
        check_attempt(t, &rows[i]);
    check_budget(t, work, rows, n);
    if (row.restarts > work->unknown + 2 * work->platform + CONFLICTS + work->wishes)
        trial_wrong(t, "%s: %u restarts, %u and %u were its retries", work->name, row.restarts,
                    work->unknown, work->platform);
    arena_destroy(arena);
}

/* One job a submission, however often it was repeated. */
static void check_names(struct trial *t)
{
    struct arena *arena = arena_create();
    struct job_row *rows;
    size_t n = 0;
    const struct job_filter all = { .limit = 1000 };
    if (store_list(t->store, arena, &all, &rows, &n, NULL))
        trial_wrong(t, "jobs cannot be listed");
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (strcmp(rows[i].name, rows[k].name) == 0)
                trial_wrong(t, "%s was submitted once and is there twice", rows[i].name);
    arena_destroy(arena);
}

void check_end(struct trial *t)
{
    check_events(t, 0);
    check_works(t);
    check_names(t);
    for (size_t i = 0; i < t->clients.n; i++) {
        const struct work *work = &t->clients.works[i];
        if (!work->acknowledged && !work->refused)
            trial_wrong(t, "%s was never answered", work->name);
        for (uint32_t k = 0; work->acknowledged && k <= work->members; k++)
            check_job(t, work, work->id + k);
    }
    for (uint32_t i = 0; i < cluster_count(t->ctl->cluster); i++)
        if (cluster_node(t->ctl->cluster, i).tasks)
            trial_wrong(t, "node %s holds something at the end",
                        cluster_node(t->ctl->cluster, i).spec->name);
    if (agents_alive(&t->agents))
        trial_wrong(t, "%zu agents live at the end", agents_alive(&t->agents));
    if (!agents_idle(&t->agents))
        trial_wrong(t, "an agent waits for an acknowledgement at the end");
}
