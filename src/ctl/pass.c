/* Prepares a pass of the scheduler. Whatever a pass changes is changed here: jobs that cannot be
 * read end, jobs whose time has come join their lines, and every job that the snapshot is to tell
 * of has its spec, its queue and its user there. The snapshot itself only reads. */
#include "ctl/pass.h"

#include "ctl/allocations.h"
#include "ctl/charges.h"
#include "ctl/core.h"
#include "depend/bundle.h"
#include "live/lines.h"

struct preparing {
    struct ctl *ctl;
    struct arena *arena;
    bool asks; /* nothing may change that anybody sees */
};

/* ---- jobs that stand aside ---- */

static bool waits_for_time(struct ctl *ctl, struct live_job *job)
{
    if (job->row.not_before_ms <= core_now(ctl))
        return false;
    core_wake(ctl, job->row.not_before_ms);
    job->why = (struct live_why){ .why = WAIT_TIME };
    return true;
}

/* May it be planned for now, as far as its record and its time go? A job whose record cannot be
 * read ends here. */
static bool may_start(struct ctl *ctl, struct live_job *job)
{
    if (core_spec(ctl, job))
        return !waits_for_time(ctl, job);
    settle_end(ctl, job, JOB_EV_FAIL, &(struct reason){ .kind = REASON_UNREADABLE });
    return false;
}

static void join_lines(struct ctl *ctl, struct arena *arena)
{
    struct lines *lines = live_lines(ctl->live);
    struct map *there = lines_aside(lines) ? allocations_there(ctl, arena) : NULL;
    for (size_t i = lines_aside(lines); i-- > 0;) {
        struct live_job *job = lines_aside_at(lines, i);
        if (!may_start(ctl, job))
            continue;
        if (job->notes.has_peers && job->row.generation == 0)
            continue; /* when all that are there are known */
        if (allocations_pending(ctl, job, there)) {
            allocations_say(job);
            continue;
        }
        lines_leave(lines, job);
        job->notes.shape = job_shape(job->spec);
        lines_join(lines, job);
    }
    map_destroy(there);
}

/* What jobs will hold that wait for an allocation of their own. */
static void locate_pending(struct ctl *ctl)
{
    const struct lines *lines = live_lines(ctl->live);
    for (size_t i = 0; i < lines_aside(lines); i++) {
        struct live_job *job = lines_aside_at(lines, i);
        if (job->notes.own && job->spec)
            charges_locate(ctl, job);
    }
}

struct looking { /* at jobs, as bundle_look() does */
    struct ctl *ctl;
    struct live_job *last; /* the one that was given last */
};

static const struct job_row *next_live(void *arg, size_t *cursor)
{
    struct looking *looking = arg;
    return live_next(looking->ctl->live, cursor, &looking->last) ? &looking->last->row : NULL;
}

static const struct job_row *next_aside(void *arg, size_t *cursor)
{
    struct looking *looking = arg;
    const struct lines *lines = live_lines(looking->ctl->live);
    if (*cursor == lines_aside(lines))
        return NULL;
    looking->last = lines_aside_at(lines, (*cursor)++);
    return &looking->last->row;
}

static const struct job_spec *spec_of_last(void *arg)
{
    struct looking *looking = arg;
    return core_spec(looking->ctl, looking->last);
}

/* How many jobs it starts together with: 0 while one of them is not there. */
static void count_peers(const struct preparing *p, struct live_job *job, const char *key)
{
    struct looking looking = { .ctl = p->ctl };
    const struct bundle_jobs jobs = {
        .arg = &looking, .next = next_live, .next_aside = next_aside, .spec = spec_of_last
    };
    const struct bundle_answer answer = bundle_look(&jobs, job->spec, key);
    job->peers = answer.waiting;
    if (job->peers) {
        charges_locate(p->ctl, job);
    } else if (!p->asks) {
        job->why = (struct live_why){ .why = WAIT_AFTER };
        event_say(job, &(struct reason){ .kind = REASON_BUNDLE, .bundle = &answer });
    }
}

static void prepare_bundles(const struct preparing *p)
{
    const struct lines *lines = live_lines(p->ctl->live);
    for (size_t i = 0; i < lines_aside(lines); i++) {
        struct live_job *job = lines_aside_at(lines, i);
        const char *key = snapshot_bundle_key(p->ctl, p->arena, job);
        if (key)
            count_peers(p, job, key);
    }
}

/* ---- lines ---- */

/* NULL: its record cannot be read. */
static struct live_job *first_of(struct ctl *ctl, struct line *line)
{
    struct live_job *job = line->first;
    if (!job)
        job = line->first = live_find(ctl->live, line_first_id(line));
    return core_spec(ctl, job) ? job : NULL;
}

/* Its first jobs are ended until one can be read. false: none could. */
static bool make_readable(const struct preparing *p, struct line *line)
{
    size_t jobs = line_jobs(line);
    while (!first_of(p->ctl, line)) {
        if (p->asks)
            return false;
        settle_end(p->ctl, line->first, JOB_EV_FAIL, &(struct reason){ .kind = REASON_UNREADABLE });
        if (--jobs == 0)
            return false;
    }
    return true;
}

static void prepare_lines(const struct preparing *p)
{
    struct line *line = lines_first(live_lines(p->ctl->live));
    while (line) {
        struct line *next = line->next;
        if (make_readable(p, line))
            charges_locate(p->ctl, line->first);
        line = next;
    }
}

/* ---- jobs that hold places ---- */

/* All its tasks are over, only its agents are not gone yet: its share is free, as its places are.
 */
static bool has_left(const struct live_job *job)
{
    return live_closing(job) && live_taken(job) == 0;
}

void pass_note(struct ctl *ctl, struct live_job *job)
{
    if (!job->active || !job->spec || !job->tasks)
        return;
    struct sched_running *one = &live_running(ctl->live)[job->active - 1];
    *one = (struct sched_running){ .id = job->row.id,
                                   .held = { .spec = job->spec,
                                             .first = &job->tasks->place,
                                             .taken = &job->tasks->taken,
                                             .stride = sizeof *job->tasks,
                                             .n = job->row.tasks },
                                   .demand = has_left(job) ? (struct vector){ 0 }
                                                           : vector_of_job(job->spec),
                                   .bid_milli = job->spec->spot_bid_milli,
                                   .started_ms = job->notes.began_ms,
                                   .leaving = live_closing(job),
                                   .idle = job->notes.idle,
                                   .preemptible = job->spec->preemptible,
                                   .priority = (uint8_t)job->spec->priority };
    charges_locate(ctl, job);
    one->queue = job->queue_at;
    one->user = job->user_at;
    if (job->spec->limits.run_time_ms.has)
        one->ends_ms = (one->started_ms ? one->started_ms : core_now(ctl)) +
                       job->spec->limits.run_time_ms.value;
}

/* After a declaration of queues everybody may be elsewhere. */
static void locate_running(struct ctl *ctl)
{
    struct live *live = ctl->live;
    bool moved = ctl->noted != queues_version(ctl->queues);
    for (size_t i = 0; moved && i < live_active(live); i++)
        pass_note(ctl, live_active_at(live, i));
    ctl->noted = queues_version(ctl->queues);
}

/* Jobs that want no place any more leave the list. */
static void drop_placed(struct ctl *ctl)
{
    size_t kept = 0;
    for (size_t i = 0; i < ctl->wanting.n; i++) {
        struct live_job *job = live_find(ctl->live, ctl->wanting.at[i]);
        if (!job)
            continue;
        job->wanting = live_in_phase(job, PHASE_UNPLACED) > 0;
        if (job->wanting)
            ctl->wanting.at[kept++] = job->row.id;
    }
    ctl->wanting.n = kept;
}

/* ---- the pass ---- */

/* In some queues waiting itself changes whose turn it is. */
static void wake_for_steps(struct ctl *ctl, const struct sched_snapshot *s)
{
    for (size_t i = 0; i < s->n_jobs; i++) {
        enum queue_strategy strategy = s->queues[s->jobs[i].queue].strategy;
        if (strategy != QUEUE_BALANCE && strategy != QUEUE_INTELLIGENT)
            continue;
        uint64_t at = core_now(ctl) + QUOTA_STEP_MS;
        ctl->replan_at = !ctl->replan_at || at < ctl->replan_at ? at : ctl->replan_at;
        core_wake(ctl, ctl->replan_at);
        return;
    }
}

static void prepare(const struct preparing *p)
{
    prepare_bundles(p);
    prepare_lines(p);
    locate_running(p->ctl);
    locate_pending(p->ctl);
    drop_placed(p->ctl);
}

void pass_begin(struct ctl *ctl, struct arena *arena, struct sched_snapshot *out)
{
    join_lines(ctl, arena);
    prepare(&(struct preparing){ .ctl = ctl, .arena = arena });
    snapshot_make(ctl, arena, out);
    wake_for_steps(ctl, out);
}

void pass_ask(struct ctl *ctl, struct arena *arena, struct sched_snapshot *out)
{
    prepare(&(struct preparing){ .ctl = ctl, .arena = arena, .asks = true });
    snapshot_make(ctl, arena, out);
}
