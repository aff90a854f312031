/* Every plan of the yard against the rules, by books of its own and by trying everything. A
 * question that is asked again has to have the same answer. */
#include "sched/test/yard.h"
#include "sched/wait_words.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

struct court {
    struct yard *y;
    const struct sched_snapshot *s;
    const struct plan *p;
    struct ledger after;                            /* with what the plan starts */
    uint64_t before[YARD_QUEUES];                   /* milli gpus in use when the plan was made */
    uint64_t used[YARD_QUEUES], user[YARD_USERS];   /* and with what it starts */
    uint32_t entries[YARD_JOBS], starts[YARD_JOBS]; /* per job */
    bool waits[YARD_JOBS];                          /* is its own WAIT or behind one */
};

static uint64_t demand_of(const struct yard_job *j)
{
    return (j->want.milli ? j->want.milli : UINT64_C(1000) * j->want.gpus) * j->want.tasks;
}

static size_t at_of(const struct court *c, uint64_t id)
{
    const struct yard_job *j = yard_by_id(c->y, id);
    if (!j)
        yard_fail(c->y, "an entry of nobody");
    return (size_t)(j - c->y->jobs);
}

/* ---- queues ---- */

#define EACH_ABOVE(q, y, from)                                                                     \
    for (uint32_t q = (from); q < (y)->n_queues; q = (y)->queues[q].parent)

static void charge(struct court *c, const struct yard_job *j)
{
    EACH_ABOVE(q, c->y, j->want.queue)
    c->used[q] += demand_of(j);
    c->user[j->want.user] += demand_of(j);
}

/* The queue that has no more for it, or its own when that is the user's; UINT32_MAX: none. */
static uint32_t over_in(const struct court *c, const struct yard_job *j)
{
    const struct yard *y = c->y;
    if (y->n_queues == 0)
        return UINT32_MAX;
    if (c->user[j->want.user] + demand_of(j) > y->queues[j->want.queue].user_most.gpu_milli)
        return j->want.queue;
    EACH_ABOVE(q, y, j->want.queue)
    if (c->used[q] + demand_of(j) > y->queues[q].most.gpu_milli)
        return q;
    return UINT32_MAX;
}

static bool idle_now(const struct court *c, const struct yard_job *j)
{
    return j->want.capacity == CAPACITY_IDLE ||
           (j->want.capacity == CAPACITY_ANY && over_in(c, j) != UINT32_MAX);
}

static bool is_above(const struct yard *y, uint32_t high, uint32_t low)
{
    EACH_ABOVE(q, y, low)
    if (q == high)
        return true;
    return false;
}

/* ---- what starts ---- */

static void judge_admit(struct court *c, const struct plan_entry *e)
{
    struct yard *y = c->y;
    size_t at = at_of(c, e->job);
    const struct yard_job *j = &y->jobs[at];
    if (j->state != YARD_WAITING || c->starts[at]++)
        yard_fail(y, "%s starts and does not wait", j->want.name);
    const char *wrong = ledger_judge(&y->ledger, j->spec, e);
    for (uint32_t i = 0; i < e->n_tasks && !wrong; i++)
        wrong = ledger_take(&c->after, j->spec, &e->tasks[i]);
    if (wrong)
        yard_fail(y, "%s: %s", j->want.name, wrong);
    if (e->idle != idle_now(c, j))
        yard_fail(y, "%s starts%s on idle capacity", j->want.name, e->idle ? "" : " not");
    if (e->idle)
        return;
    if (over_in(c, j) != UINT32_MAX)
        yard_fail(y, "%s starts and is over the limit of a queue or user", j->want.name);
    charge(c, j);
}

static void judge_more(struct court *c, const struct plan_entry *e)
{
    const struct yard_job *j = &c->y->jobs[at_of(c, e->job)];
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const char *wrong = ledger_take(&c->after, j->spec, &e->tasks[i]);
        if (wrong)
            yard_fail(c->y, "%s: more: %s", j->want.name, wrong);
    }
}

static void judge_bundles(struct court *c)
{
    for (uint32_t i = 0; i < c->y->n; i++) {
        const struct yard_job *j = &c->y->jobs[i];
        uint32_t starts = 0;
        if (!c->starts[i] || !j->want.bundle || j->starts)
            continue;
        for (uint32_t k = 0; k < c->y->n; k++)
            starts += c->starts[k] && c->y->jobs[k].want.bundle == j->want.bundle;
        if (starts != j->want.bundle_size)
            yard_fail(c->y, "%s starts without all of its bundle", j->want.name);
    }
}

/* ---- what waits ---- */

/* Of each line those that start are the first; the next has the only WAIT. */
static void judge_lines(struct court *c)
{
    for (size_t i = 0; i < c->s->n_jobs; i++) {
        const struct sched_job *line = &c->s->jobs[i];
        bool waits = false;
        for (size_t k = 0; k <= line->n_alike; k++) {
            size_t at = at_of(c, k ? line->alike[k - 1] : line->id);
            if (c->starts[at] && waits)
                yard_fail(c->y, "%s passes one of its line", c->y->jobs[at].want.name);
            uint32_t due = !c->starts[at] && !waits;
            waits = waits || !c->starts[at];
            if (c->entries[at] != due)
                yard_fail(c->y, "%s has %u reasons", c->y->jobs[at].want.name, c->entries[at]);
        }
    }
}

static const struct plan_entry *entry_of(const struct plan *p, enum plan_kind kind, uint64_t job)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].kind == kind && p->at[i].job == job)
            return &p->at[i];
    return NULL;
}

static bool evicts(const struct plan *p, uint64_t by)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].kind == PLAN_EVICT && p->at[i].by == by)
            return true;
    return false;
}

struct span {
    uint64_t from, until;
};

/* Devices that are promised for a part of the time are taken, whoever has them now; up to one
 * promise. */
static void take_promised(const struct court *c, struct ledger *l, struct span span,
                          const struct plan_entry *end)
{
    for (size_t i = 0; i < c->p->n && &c->p->at[i] != end; i++) {
        const struct plan_entry *e = &c->p->at[i];
        if (e->kind != PLAN_RESERVE || e->at_ms >= span.until ||
            e->at_ms + yard_lasts(yard_by_id(c->y, e->job)) <= span.from)
            continue;
        for (uint32_t t = 0; t < e->n_tasks; t++)
            for (uint32_t n = 0; n < l->n; n++)
                for (uint32_t g = 0; g < e->tasks[t].n_gpus; g++)
                    if (strcmp(l->at[n].spec->name, e->tasks[t].node) == 0)
                        l->at[n].gpu[e->tasks[t].gpus[g]] = 1000;
    }
}

static void judge_reserved(struct court *c, const struct yard_job *j, const struct plan_entry *e)
{
    struct ledger l = c->after;
    const struct yard_job *blocker = yard_by_id(c->y, e->reason.blocker);
    if (!blocker || blocker->state != YARD_WAITING || c->starts[blocker - c->y->jobs])
        yard_fail(c->y, "%s waits for nobody", j->want.name);
    if (!*e->reason.resource && !j->want.bundle && !ledger_could_place(&c->y->ledger, j->spec))
        yard_fail(c->y, "%s: there is no room", j->want.name);
    if (*e->reason.resource || j->want.milli || j->want.bundle || c->y->depth)
        return; /* what a queue may have is kept, or the check below is too coarse */
    take_promised(c, &l, (struct span){ 0, c->y->now_ms + yard_lasts(j) }, NULL);
    if (ledger_could_place(&l, j->spec))
        yard_fail(c->y, "%s would delay nobody", j->want.name);
}

static void judge_ahead(struct court *c, const struct yard_job *j)
{
    const struct yard *y = c->y;
    enum queue_strategy s =
        y->n_queues ? y->queues[j->want.queue].strategy : (enum queue_strategy)QUEUE_BACKFILL;
    if (!y->depth && !j->want.bundle && (s == QUEUE_BACKFILL || s == QUEUE_ROUND_ROBIN))
        yard_fail(c->y, "%s: nobody is ahead", j->want.name);
}

static void judge_reason(struct court *c, const struct plan_entry *e)
{
    struct yard *y = c->y;
    const struct yard_job *j = &y->jobs[at_of(c, e->job)];
    if (!e->reason.says)
        yard_fail(y, "%s has no reason", j->want.name);
    switch (e->reason.why) {
    case WAIT_RESOURCE:
    case WAIT_LABELS:
    case WAIT_NODES_DOWN:
        if (!j->want.bundle && !j->want.bid && ledger_could_place(&c->after, j->spec))
            yard_fail(y, "%s would fit", j->want.name);
        break;
    case WAIT_QUOTA:
    case WAIT_USER:
        if (over_in(c, j) == UINT32_MAX && !j->want.bundle)
            yard_fail(y, "%s is not over", j->want.name);
        break;
    case WAIT_RESERVED: judge_reserved(c, j, e); break;
    case WAIT_AHEAD: judge_ahead(c, j); break;
    case WAIT_EVICTING:
        if (!j->claims && !evicts(c->p, j->id))
            yard_fail(y, "nobody is ended for %s", j->want.name);
        break;
    default: yard_fail(y, "%s: reason %d", j->want.name, e->reason.why);
    }
}

/* ---- who is ended ---- */

static bool borrowed(const struct court *c, const struct yard_job *by,
                     const struct yard_job *victim)
{
    const struct yard *y = c->y;
    bool covered = false;
    EACH_ABOVE(q, y, by->want.queue)
    {
        if (is_above(y, q, victim->want.queue))
            break;
        uint64_t sure = y->queues[q].sure.gpu_milli;
        if (y->queues[q].keeps)
            return false;
        covered = covered || (sure && c->before[q] + demand_of(by) <= sure);
    }
    EACH_ABOVE(q, y, victim->want.queue)
    {
        if (is_above(y, q, by->want.queue))
            break;
        if (y->queues[q].sure.gpu_milli && c->used[q] <= y->queues[q].sure.gpu_milli)
            return false;
    }
    return covered;
}

static void judge_victim(struct court *c, const struct plan_entry *e)
{
    struct yard *y = c->y;
    const struct yard_job *victim = &y->jobs[at_of(c, e->job)];
    if (victim->state != YARD_RUNNING || c->entries[victim - y->jobs]++)
        yard_fail(y, "%s is ended and does not run", victim->want.name);
    if (!e->by) {
        if (!victim->want.bid)
            yard_fail(y, "%s is ended for nobody", victim->want.name);
        return;
    }
    const struct yard_job *by = &y->jobs[at_of(c, e->by)];
    if (by->state != YARD_WAITING || c->starts[by - y->jobs])
        yard_fail(y, "%s is ended for %s, who does not wait", victim->want.name, by->want.name);
    bool lower = victim->want.queue == by->want.queue && victim->want.preemptible &&
                 victim->want.priority < by->want.priority;
    if (by->want.capacity == CAPACITY_IDLE || !(victim->idle || lower || borrowed(c, by, victim)))
        yard_fail(y, "%s may not be ended for %s", victim->want.name, by->want.name);
    if (by->evicted_for == victim->id)
        yard_fail(y, "%s and %s end each other", victim->want.name, by->want.name);
}

static bool is_victim(const struct plan *p, uint64_t job, uint64_t by)
{
    const struct plan_entry *e = entry_of(p, PLAN_EVICT, job);
    return e && e->by == by;
}

/* Those that are over by then without being ended for the job. */
static void end_short(const struct court *c, struct ledger *l, uint64_t gone, uint64_t by)
{
    for (uint32_t i = 0; i < c->y->n; i++) {
        const struct yard_job *j = &c->y->jobs[i];
        bool leaves = j->state == YARD_LEAVING;
        uint64_t end = leaves ? j->ends_ms : j->started_ms + yard_lasts(j);
        if ((j->state != YARD_RUNNING && !leaves) || end > gone || is_victim(c->p, j->id, by))
            continue;
        for (uint32_t t = 0; t < j->n_places; t++)
            ledger_give(l, j->spec, &j->places[t]);
    }
    for (size_t i = 0; i < c->p->n; i++) {
        const struct plan_entry *e = &c->p->at[i];
        const struct yard_job *j = yard_by_id(c->y, e->job);
        if (e->kind != PLAN_ADMIT || c->y->now_ms + yard_lasts(j) > gone)
            continue;
        for (uint32_t t = 0; t < e->n_tasks; t++)
            ledger_give(l, j->spec, &e->tasks[t]);
    }
}

/* It fits when all of them are gone and not when one of them stays; and it is told so. */
static void judge_need(struct court *c, const struct yard_job *by)
{
    struct yard *y = c->y;
    const struct plan_entry *told = entry_of(c->p, PLAN_RESERVE, by->id);
    uint64_t gone = 0;
    for (size_t spared = 0; spared <= c->p->n; spared++) {
        struct ledger l = c->after;
        if (spared < c->p->n &&
            (c->p->at[spared].kind != PLAN_EVICT || c->p->at[spared].by != by->id))
            continue;
        for (size_t i = 0; i < c->p->n; i++) {
            const struct plan_entry *e = &c->p->at[i];
            if (e->kind != PLAN_EVICT || e->by != by->id)
                continue;
            gone = e->at_ms > gone ? e->at_ms : gone;
            const struct yard_job *victim = yard_by_id(y, e->job);
            for (uint32_t t = 0; i != spared && t < victim->n_places; t++)
                ledger_give(&l, victim->spec, &victim->places[t]);
        }
        struct span span = { 0, y->now_ms + 60001 + yard_lasts(by) };
        if (spared == c->p->n) {
            end_short(c, &l, gone, by->id);
            span = (struct span){ gone, gone + yard_lasts(by) };
        }
        take_promised(c, &l, span, told);
        if (ledger_could_place(&l, by->spec) != (spared == c->p->n))
            yard_fail(y, "%s: %s", by->want.name,
                      spared == c->p->n ? "does not fit with all of them gone"
                                        : "somebody is ended for nothing");
    }
    if (!told || told->at_ms > gone)
        yard_fail(y, "%s does not get the room made for it", by->want.name);
}

static void judge_evictions(struct court *c)
{
    for (size_t i = 0; i < c->p->n; i++)
        if (c->p->at[i].kind == PLAN_EVICT)
            judge_victim(c, &c->p->at[i]);
    for (uint32_t i = 0; i < c->y->n; i++)
        if (evicts(c->p, c->y->jobs[i].id))
            judge_need(c, &c->y->jobs[i]);
}

/* ---- promises ---- */

static bool comes_before(const struct yard_job *a, const struct yard_job *b)
{
    uint64_t x = a->promised_ms ? a->promised_ms : YARD_NEVER;
    uint64_t y = b->promised_ms ? b->promised_ms : YARD_NEVER;
    if (a->want.priority != b->want.priority)
        return a->want.priority > b->want.priority;
    return x != y ? x < y : a->id < b->id;
}

static bool is_first(const struct yard *y, const struct yard_job *j)
{
    for (uint32_t i = 0; i < y->n; i++) {
        const struct yard_job *k = &y->jobs[i];
        if (k != j && k->state == YARD_WAITING && comes_before(k, j))
            return false;
    }
    return true;
}

/* What the first of all is told moves to later only for those that come before it since; and it
 * does not wait longer. Those behind it are told what holds as long as nobody before them starts
 * elsewhere than was thought. */
static void judge_promise(struct court *c, struct yard_job *j)
{
    struct yard *y = c->y;
    const struct plan_entry *told = entry_of(c->p, PLAN_RESERVE, j->id);
    bool first = is_first(y, j);
    if (told && told->at_ms < y->now_ms)
        yard_fail(y, "%s is told a time that is over", j->want.name);
    if (!first)
        j->excused = true;
    if (y->keeps && j->expected_ms && !j->excused) {
        if (c->starts[j - y->jobs] ? y->now_ms > j->expected_ms : y->now_ms >= j->expected_ms)
            yard_fail(y, "%s was told to start by %" PRIu64, j->want.name,
                      j->expected_ms - YARD_START);
        if (!c->starts[j - y->jobs] && (!told || told->at_ms > j->expected_ms))
            yard_fail(y, "%s was told %" PRIu64 " before", j->want.name,
                      j->expected_ms - YARD_START);
    }
    if (told && first)
        j->excused = false;
}

/* ---- the same from the same ---- */

static bool same_places(const struct plan_entry *a, const struct plan_entry *b)
{
    if (a->n_tasks != b->n_tasks)
        return false;
    for (uint32_t i = 0; i < a->n_tasks; i++) {
        const struct task_place *x = &a->tasks[i], *y = &b->tasks[i];
        if (x->role != y->role || x->index != y->index || strcmp(x->node, y->node) != 0 ||
            x->n_gpus != y->n_gpus || x->gpu_share_milli != y->gpu_share_milli ||
            (x->n_gpus && memcmp(x->gpus, y->gpus, x->n_gpus * sizeof *x->gpus) != 0))
            return false;
    }
    return true;
}

static bool same_reason(struct arena *arena, const struct wait_reason *a,
                        const struct wait_reason *b)
{
    return a->why == b->why && a->need == b->need && a->best == b->best &&
           a->short_by == b->short_by && a->ahead == b->ahead && a->blocker == b->blocker &&
           a->at_ms == b->at_ms && a->queue == b->queue && a->says == b->says &&
           (!a->says || strcmp(wait_text(arena, a), wait_text(arena, b)) == 0);
}

static void judge_again(struct court *c)
{
    struct sched_snapshot s = *c->s;
    struct arena *arena = c->y->world.arena;
    struct sched_job *jobs = ARENA_ARRAY(arena, s.n_jobs, struct sched_job);
    struct sched_running *running = ARENA_ARRAY(arena, s.n_running, struct sched_running);
    for (size_t i = 0; i < s.n_jobs; i++)
        jobs[s.n_jobs - 1 - i] = s.jobs[i];
    for (size_t i = 0; i < s.n_running; i++)
        running[s.n_running - 1 - i] = s.running[i];
    s.jobs = jobs;
    s.running = running;
    struct plan other = sched_plan(&s, c->y->now_ms, arena);
    bool same = other.n == c->p->n;
    for (size_t i = 0; i < other.n && same; i++) {
        const struct plan_entry *a = &other.at[i], *b = &c->p->at[i];
        same = a->kind == b->kind && a->job == b->job && a->at_ms == b->at_ms && a->by == b->by &&
               a->idle == b->idle && same_places(a, b) &&
               same_reason(arena, &a->reason, &b->reason);
        if (!same)
            yard_fail(c->y, "in another order entry %zu is %d of %" PRIx64 " by %" PRIx64 ": %s", i,
                      a->kind, a->job, a->by, a->reason.says ? wait_text(arena, &a->reason) : "");
    }
    if (!same)
        yard_fail(c->y, "another plan comes of another order of jobs: %zu entries", other.n);
}

/* ---- all of it ---- */

static void count_running(struct court *c)
{
    for (uint32_t i = 0; i < c->y->n; i++) {
        const struct yard_job *j = &c->y->jobs[i];
        if ((j->state == YARD_RUNNING || j->state == YARD_LEAVING) && !j->idle)
            charge(c, j);
    }
    memcpy(c->before, c->used, sizeof c->before);
}

void yard_judge(struct yard *y, const struct sched_snapshot *s, const struct plan *p)
{
    struct court c = { .y = y, .s = s, .p = p, .after = y->ledger };
    count_running(&c);
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_entry *e = &p->at[i];
        if (e->kind == PLAN_ADMIT)
            judge_admit(&c, e);
        else if (e->kind == PLAN_MORE)
            judge_more(&c, e);
    }
    for (size_t i = 0; i < p->n; i++) {
        const struct yard_job *j = yard_by_id(y, p->at[i].job);
        if (p->at[i].kind != PLAN_WAIT || (j && j->state != YARD_WAITING))
            continue; /* growth that waits is not looked at */
        c.entries[at_of(&c, p->at[i].job)]++;
        judge_reason(&c, &p->at[i]);
    }
    judge_bundles(&c);
    judge_lines(&c);
    judge_evictions(&c);
    for (uint32_t i = 0; i < y->n; i++)
        if (y->jobs[i].state == YARD_WAITING)
            judge_promise(&c, &y->jobs[i]);
    if (y->permuted)
        judge_again(&c);
}
