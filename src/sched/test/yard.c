/* Time in the yard: what comes, ends and leaves, and the core's part in carrying out a plan. It
 * plans again after each change, as the core does, until nothing comes of it. */
#include "sched/test/yard.h"

#include "sched/test/digest.h"
#include "sched/wait_words.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PLANS_MAX 8u /* in one moment, before the yard is taken to go round in circles */

struct yard *yard_create(uint32_t nodes, uint32_t gpus)
{
    static const char *const names[] = { "n0", "n1", "n2", "n3" };
    static const char *const addresses[] = { "127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4" };
    static const char *const zones[] = { "a", "a", "b", "b" };
    struct yard *y = mem_new(sizeof *y);
    y->world = world_create(NULL, 0);
    y->now_ms = YARD_START;
    y->lines = true;
    for (uint32_t i = 0; i < nodes; i++) {
        struct node_spec *s = ARENA_NEW(y->world.arena, struct node_spec);
        *s = (struct node_spec){ .name = names[i],
                                 .address = addresses[i],
                                 .host = names[i],
                                 .cpu_milli = 64000,
                                 .gpus = gpus };
        pairs_set(&s->labels, y->world.arena, "zone", zones[i]);
        cluster_put(y->world.cluster, s);
        y->ledger.at[y->ledger.n++] = (struct ledger_node){ .spec = s, .usable = true };
    }
    for (uint32_t i = 0; i < YARD_USERS; i++)
        y->users[i] = (struct sched_user){ .queue = 0 };
    y->n_users = YARD_USERS;
    return y;
}

void yard_destroy(struct yard *y)
{
    world_destroy(&y->world);
    free(y);
}

uint32_t yard_queue(struct yard *y, enum queue_strategy strategy, uint32_t parent, uint32_t sure,
                    uint32_t most)
{
    static const char *const names[] = { "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7" };
    struct queue_spec *q = &y->queues[y->n_queues];
    *q = (struct queue_spec){ .name = names[y->n_queues],
                              .parent = parent,
                              .strategy = strategy,
                              .sure = { .gpu_milli = UINT64_C(1000) * sure },
                              .most = VECTOR_ANY,
                              .user_most = VECTOR_ANY };
    if (most != UINT32_MAX)
        q->most.gpu_milli = UINT64_C(1000) * most;
    return (uint32_t)y->n_queues++;
}

static struct job_spec *spec_of(struct yard *y, const struct yard_want *w)
{
    struct role role = { .name = "w", .replicas = w->tasks, .min = w->min ? w->min : w->tasks };
    role.resources.gpu_milli = w->milli ? w->milli : UINT64_C(1000) * w->gpus;
    role.resources.cpu_milli = UINT64_C(1000) * w->cpus;
    struct job_spec *job = world_job(y->world.arena, &role, 1);
    job->name = w->name;
    job->priority = w->priority;
    job->capacity = w->capacity;
    job->preemptible = w->preemptible;
    job->spot_bid_milli = w->bid;
    job->limits.grace_ms = w->grace_ms;
    job->limits.run_time_ms.has = w->limit_ms != 0;
    job->limits.run_time_ms.value = w->limit_ms;
    if (w->zone)
        pairs_set(&job->placing.labels, y->world.arena, "zone", w->zone);
    return job;
}

struct yard_job *yard_add(struct yard *y, const struct yard_want *want)
{
    assert_true(y->n < YARD_JOBS);
    struct yard_job *j = &y->jobs[y->n++];
    *j = (struct yard_job){ .want = *want };
    struct yard_want *w = &j->want;
    w->tasks = w->tasks ? w->tasks : 1;
    w->priority = w->priority ? w->priority : 5;
    w->at_ms += YARD_START;
    uint64_t most = w->limit_ms ? w->limit_ms : YARD_USUAL;
    w->run_ms = w->run_ms && w->run_ms < most ? w->run_ms : most;
    j->spec = spec_of(y, w);
    j->shape = job_shape(j->spec);
    j->id = w->at_ms << 20 | y->n;
    return j;
}

struct yard_job *yard_by_id(struct yard *y, uint64_t id)
{
    for (uint32_t i = 0; i < y->n; i++)
        if (y->jobs[i].id == id)
            return &y->jobs[i];
    return NULL;
}

struct yard_job *yard_find(struct yard *y, const char *name)
{
    for (uint32_t i = 0; i < y->n; i++)
        if (strcmp(y->jobs[i].want.name, name) == 0)
            return &y->jobs[i];
    yard_fail(y, "no job %s", name);
}

uint64_t yard_lasts(const struct yard_job *j)
{
    return j->want.limit_ms ? j->want.limit_ms : YARD_USUAL;
}

enum wait_why yard_why(struct yard *y, const char *name)
{
    struct yard_job *j = yard_find(y, name);
    return j->state == YARD_WAITING ? j->why.why : WAIT_NONE;
}

/* ---- telling ---- */

static const char *seconds(struct yard *y, uint64_t ms)
{
    uint64_t since = ms - YARD_START;
    if (since % 1000 == 0)
        return arena_printf(y->world.arena, "%" PRIu64, since / 1000);
    return arena_printf(y->world.arena, "%" PRIu64 ".%03" PRIu64, since / 1000, since % 1000);
}

const char *yard_show(struct yard *y)
{
    AUTO_BUF struct buf out = BUF_INIT(8192);
    for (uint32_t i = 0; i < y->n; i++) {
        const struct yard_job *j = &y->jobs[i];
        buf_addf(&out, "%s%s", i ? " " : "", j->want.name);
        if (j->started_ms)
            buf_addf(&out, " %s-", seconds(y, j->started_ms));
        if (j->state == YARD_DONE)
            buf_puts(&out, seconds(y, j->done_ms));
        else if (!j->started_ms)
            buf_puts(&out, " -");
    }
    return arena_strdup(y->world.arena, buf_str(&out));
}

_Noreturn void yard_fail(struct yard *y, const char *fmt, ...)
{
    static const char *const kinds[] = { "ADMIT", "MORE", "EVICT", "RESERVE", "WAIT" };
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (uint32_t i = 0; i < y->n; i++) {
        const struct yard_job *j = &y->jobs[i];
        print_message("  %s id=%" PRIx64 " q%u u%u p%u %ux%u(min %u) milli %u lim %" PRIu64
                      " run %" PRIu64 " state %d%s%s told %" PRId64 "\n",
                      j->want.name, j->id, j->want.queue, j->want.user, j->want.priority,
                      j->want.tasks, j->want.gpus, j->want.min, j->want.milli, j->want.limit_ms,
                      j->want.run_ms, j->state, j->idle ? " idle" : "", j->claims ? " claims" : "",
                      j->expected_ms ? (int64_t)(j->expected_ms - YARD_START) : -1);
    }
    for (size_t i = 0; i < y->last.n; i++) {
        const struct plan_entry *e = &y->last.at[i];
        const struct yard_job *j = yard_by_id(y, e->job), *by = yard_by_id(y, e->by);
        print_message("  %s %s %s at %" PRId64 " by %s: %u %s\n", kinds[e->kind],
                      j ? j->want.name : "?", j ? world_show(y->world.arena, j->spec, e) : "",
                      e->at_ms ? (int64_t)(e->at_ms - YARD_START) : -1, by ? by->want.name : "-",
                      e->reason.why, e->reason.says ? wait_text(y->world.arena, &e->reason) : "");
    }
    fail_msg("seed %" PRIu64 " at %" PRIu64 ": %s", y->seed, y->now_ms - YARD_START, text);
    abort();
}

/* ---- what is handed to the scheduler ---- */

static bool alike(const struct yard *y, const struct yard_job *a, const struct yard_job *b)
{
    return y->lines && !a->want.bundle && !b->want.bundle && a->shape == b->shape &&
           a->want.queue == b->want.queue && a->want.user == b->want.user &&
           a->want.priority == b->want.priority;
}

static int by_id(const void *a, const void *b)
{
    const struct yard_job *x = *(struct yard_job *const *)a, *y = *(struct yard_job *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Lines as live/lines.c makes them: by age, and the first speaks for all. */
static void add_jobs(struct yard *y, struct sched_snapshot *s)
{
    struct arena *arena = y->world.arena;
    struct yard_job *waiting[YARD_JOBS];
    bool taken[YARD_JOBS] = { false };
    size_t n = 0;
    for (uint32_t i = 0; i < y->n; i++)
        if (y->jobs[i].state == YARD_WAITING)
            waiting[n++] = &y->jobs[i];
    if (n)
        qsort(waiting, n, sizeof *waiting, by_id);
    struct sched_job *jobs = ARENA_ARRAY(arena, n, struct sched_job);
    for (size_t i = 0; i < n; i++) {
        struct yard_job *j = waiting[i];
        if (taken[i])
            continue;
        uint64_t *others = ARENA_ARRAY(arena, n, uint64_t);
        struct sched_job *one = &jobs[s->n_jobs++];
        *one = (struct sched_job){ .id = j->id,
                                   .spec = j->spec,
                                   .alike = others,
                                   .queue = j->want.queue,
                                   .user = j->want.user,
                                   .bundle = j->starts ? 0 : j->want.bundle,
                                   .bundle_size = j->want.bundle_size,
                                   .promised_ms = j->promised_ms,
                                   .claims = j->claims };
        for (size_t k = i + 1; k < n; k++)
            if (!taken[k] && alike(y, j, waiting[k])) {
                taken[k] = true;
                others[one->n_alike++] = waiting[k]->id;
            }
    }
    s->jobs = jobs;
}

static void add_running(struct yard *y, struct sched_snapshot *s)
{
    struct arena *arena = y->world.arena;
    struct sched_running *running = ARENA_ARRAY(arena, y->n, struct sched_running);
    struct sched_more *more = ARENA_ARRAY(arena, y->n, struct sched_more);
    for (uint32_t i = 0; i < y->n; i++) {
        struct yard_job *j = &y->jobs[i];
        if (j->state != YARD_RUNNING && j->state != YARD_LEAVING)
            continue;
        struct sched_running *r = &running[s->n_running++];
        *r = (struct sched_running){ .id = j->id,
                                     .held = held_places_of(j->spec, j->places, j->n_places),
                                     .demand = vector_of_job(j->spec),
                                     .bid_milli = j->spec->spot_bid_milli,
                                     .queue = j->want.queue,
                                     .user = j->want.user,
                                     .started_ms = j->started_ms,
                                     .saved_ms = j->saved_ms,
                                     .leaving = j->state == YARD_LEAVING,
                                     .idle = j->idle,
                                     .preemptible = j->spec->preemptible,
                                     .priority = (uint8_t)j->spec->priority };
        if (j->want.limit_ms)
            r->ends_ms = j->started_ms + j->want.limit_ms;
        if (r->leaving)
            r->ends_ms = j->ends_ms;
        if (r->leaving || j->n_places == j->want.tasks)
            continue;
        struct task_ref *refs = ARENA_ARRAY(arena, j->want.tasks, struct task_ref);
        struct sched_more *m = &more[s->n_more++];
        *m = (struct sched_more){
            .id = j->id, .spec = j->spec, .tasks = refs, .held = j->places, .n_held = j->n_places
        };
        for (uint32_t k = j->n_places; k < j->want.tasks; k++)
            refs[m->n++].index = k;
    }
    s->running = running;
    s->more = more;
}

static struct sched_snapshot snapshot_of(struct yard *y)
{
    struct sched_snapshot s = { .cluster = y->world.cluster,
                                .queues = y->queues,
                                .n_queues = y->n_queues,
                                .users = y->users,
                                .n_users = y->n_users,
                                .depth = y->depth,
                                .run_ms = YARD_USUAL };
    uint64_t all = 0; /* devices */
    for (uint32_t i = 0; i < y->ledger.n; i++)
        all += y->ledger.at[i].spec->gpus;
    for (uint32_t i = 0; i < YARD_USERS; i++)
        y->users[i].usage = y->gpu_ms[i] * 1000 / 3600 / (all ? all : 1);
    add_jobs(y, &s);
    add_running(y, &s);
    return s;
}

/* ---- carrying out ---- */

static void take(struct yard *y, struct yard_job *j, const struct plan_entry *e)
{
    struct task_place *all = ARENA_ARRAY(y->world.arena, j->want.tasks, struct task_place);
    if (j->n_places)
        memcpy(all, j->places, j->n_places * sizeof *all);
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const char *wrong = ledger_take(&y->ledger, j->spec, &e->tasks[i]);
        if (wrong || !cluster_take(y->world.cluster, j->spec, &e->tasks[i]))
            yard_fail(y, "%s: %s", j->want.name, wrong ? wrong : "the cluster refuses");
        all[j->n_places++] = e->tasks[i];
    }
    j->places = all;
}

static void give_back(struct yard *y, struct yard_job *j)
{
    for (uint32_t i = 0; i < j->n_places; i++) {
        ledger_give(&y->ledger, j->spec, &j->places[i]);
        cluster_give(y->world.cluster, j->spec, &j->places[i]);
    }
    j->n_places = 0;
}

static void admit(struct yard *y, struct yard_job *j, const struct plan_entry *e)
{
    take(y, j, e);
    j->state = YARD_RUNNING;
    j->started_ms = y->now_ms;
    j->ends_ms = y->now_ms + j->want.run_ms;
    j->idle = e->idle;
    j->starts++;
    j->promised_ms = j->expected_ms = j->evicted_for = 0;
    j->claims = j->excused = false;
}

static void evict(struct yard *y, struct yard_job *j, const struct plan_entry *e)
{
    struct yard_job *by = yard_by_id(y, e->by);
    if (by)
        by->claims = true;
    j->state = YARD_LEAVING;
    j->again = j->ends_ms > y->now_ms + j->want.grace_ms;
    j->ends_ms = j->again ? y->now_ms + j->want.grace_ms : j->ends_ms;
    j->evicted_for = e->by;
    j->evictions++;
    y->evictions++;
}

static void keep_waiting(struct yard *y, const struct sched_snapshot *s, const struct plan_entry *e)
{
    for (size_t i = 0; i < s->n_jobs; i++)
        for (size_t k = 0; k <= s->jobs[i].n_alike; k++) {
            uint64_t id = k ? s->jobs[i].alike[k - 1] : s->jobs[i].id;
            if (id != e->job)
                continue;
            for (; k <= s->jobs[i].n_alike; k++)
                yard_by_id(y, k ? s->jobs[i].alike[k - 1] : s->jobs[i].id)->why = e->reason;
            return;
        }
}

/* true: something changed that another plan could answer to. */
static bool carry_out(struct yard *y, const struct sched_snapshot *s, const struct plan *p)
{
    bool again = false;
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_entry *e = &p->at[i];
        struct yard_job *j = yard_by_id(y, e->job);
        switch (e->kind) {
        case PLAN_ADMIT: admit(y, j, e); break;
        case PLAN_MORE: take(y, j, e); break;
        case PLAN_EVICT:
            evict(y, j, e);
            again = true;
            break;
        case PLAN_RESERVE:
            j->expected_ms = e->at_ms;
            j->promised_ms = j->promised_ms ? j->promised_ms : e->at_ms;
            break;
        case PLAN_WAIT: keep_waiting(y, s, e); break;
        }
    }
    return again;
}

/* Plans like the core: again after each change, until nothing comes of it. */
static void plan(struct yard *y)
{
    for (uint32_t round = 0;; round++) {
        struct sched_snapshot s = snapshot_of(y);
        struct plan p = { .n = 0 };
        if (s.n_jobs || s.n_more)
            p = sched_plan(&s, y->now_ms, y->world.arena);
        y->last = p;
        y->digest = digest_plan(y->digest, &p);
        if (round == PLANS_MAX)
            yard_fail(y, "no end of plans");
        yard_judge(y, &s, &p);
        if (!carry_out(y, &s, &p))
            return;
    }
}

/* ---- time ---- */

static void leave(struct yard *y, struct yard_job *j)
{
    bool again = j->state == YARD_LEAVING && j->again;
    give_back(y, j);
    j->state = again ? YARD_WAITING : YARD_DONE;
    j->done_ms = y->now_ms;
    j->idle = j->again = false;
}

static uint64_t next_event(const struct yard *y)
{
    uint64_t next = YARD_NEVER;
    for (uint32_t i = 0; i < y->n; i++) {
        const struct yard_job *j = &y->jobs[i];
        uint64_t at = YARD_NEVER;
        if (j->state == YARD_COMING)
            at = j->want.at_ms;
        else if (j->state == YARD_RUNNING || j->state == YARD_LEAVING)
            at = j->ends_ms;
        next = at < next ? at : next;
    }
    return next;
}

static void go_to(struct yard *y, uint64_t ms)
{
    for (uint32_t i = 0; i < y->n; i++) {
        struct yard_job *j = &y->jobs[i];
        if (j->state == YARD_RUNNING || j->state == YARD_LEAVING)
            y->gpu_ms[j->want.user] += (ms - y->now_ms) * j->n_places * j->want.gpus;
    }
    y->now_ms = ms;
    for (uint32_t i = 0; i < y->n; i++) {
        struct yard_job *j = &y->jobs[i];
        bool holds = j->state == YARD_RUNNING || j->state == YARD_LEAVING;
        if (j->state == YARD_COMING && j->want.at_ms <= ms)
            j->state = YARD_WAITING;
        else if (holds && j->ends_ms <= ms)
            leave(y, j);
    }
}

bool yard_step(struct yard *y)
{
    uint64_t next = next_event(y);
    if (next == YARD_NEVER)
        return false;
    go_to(y, next);
    plan(y);
    y->steps++;
    return true;
}

void yard_until(struct yard *y, uint64_t ms)
{
    while (next_event(y) <= YARD_START + ms)
        yard_step(y);
    if (y->now_ms < YARD_START + ms)
        go_to(y, YARD_START + ms);
}

void yard_run(struct yard *y)
{
    for (uint32_t i = 0; yard_step(y); i++)
        if (i > 1000 * (y->n + 1))
            yard_fail(y, "no end of it");
}

/* What ran on a lost node waits again. */
void yard_node(struct yard *y, uint32_t node, bool up)
{
    const char *name = y->ledger.at[node].spec->name;
    for (uint32_t i = 0; !up && i < y->n; i++) {
        struct yard_job *j = &y->jobs[i];
        bool hit = false;
        for (uint32_t k = 0; k < j->n_places; k++)
            hit = hit || strcmp(j->places[k].node, name) == 0;
        if (!hit)
            continue;
        j->again = j->state == YARD_RUNNING || j->again;
        j->state = YARD_LEAVING;
        leave(y, j);
    }
    cluster_set_up(y->world.cluster, node, up);
    y->ledger.at[node].usable = up;
    for (uint32_t i = 0; i < y->n; i++)
        y->jobs[i].excused = y->jobs[i].excused || !up;
    plan(y);
}
