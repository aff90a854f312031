/* The turn: apply what was heard, settle what changed, tell launchers, commit once, answer, act;
 * plan, and again until nothing is left to do. A commit that fails undoes the whole round:
 * participants are as the rows say again, commands get the reason; a ballast file makes room so
 * that ends can still be recorded. Where it is not known whether the disk has the commit after all,
 * commands wait for their answer until it is. */
#include "ctl/allocations.h"
#include "ctl/clock.h"
#include "ctl/core.h"
#include "ctl/depend_work.h"
#include "ctl/participants.h"
#include "ctl/pass.h"
#include "image/jobs/early_images.h"
#include "rdzv/jobs/rdzv_table.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/turn_meter.h"
#include "ctl/slices.h"
#include "depend/array.h"
#include "store/disk.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS_MAX 64                 /* a turn that goes on longer lets the loop breathe */
#define RETRY_MS   500ull             /* after a failed commit */
#define LARGE      ((size_t)16 << 20) /* of a round: thousands of jobs began or ended in it */

struct answer *turn_answer(struct ctl *ctl, ctl_done *done, void *arg)
{
    struct answer *answer = vec_add(&ctl->answers);
    answer->done = done;
    answer->arg = arg;
    answer->arena = arena_create();
    report_init(&answer->report, answer->arena);
    return answer;
}

/* Or it waits for the next slice. */
static bool nothing_now(const struct ctl *ctl)
{
    return ctl->answers.n == 0 && (ctl->applied == ctl->facts.n || ctl->slices.rows == 0) &&
           ctl->touched.n == 0 && ctl->acks.n == 0 && !store_dirty(ctl->config.store) &&
           rdzv_table_idle(ctl->rdzv_table);
}

bool turn_idle(const struct ctl *ctl)
{
    return nothing_now(ctl) && ctl->applied == ctl->facts.n && ctl->slices.later.n == 0 &&
           arrays_unfinished(ctl->arrays) == 0 && !ctl->slices.deleting;
}

/* ---- answering ---- */

static void answer_one(struct answer *answer)
{
    bool failed = answer->err.code != ERR_NONE;
    struct ctl_answer out = { .err = failed ? &answer->err : NULL,
                              .report = answer->has_report ? &answer->report : NULL,
                              .tree = failed ? NULL : answer->tree,
                              .job = answer->job };
    if (!failed)
        out.made = answer->made;
    answer->done(answer->arg, &out);
    arena_destroy(answer->arena);
}

/* Callbacks may give new commands: those wait for the next round. */
static void answer_all(struct ctl *ctl)
{
    TURN_WORK(ctl->config.meter, "answers", 0);
    struct answer *at = ctl->answers.at;
    size_t n = ctl->answers.n;
    ctl->answers.at = NULL;
    ctl->answers.n = ctl->answers.cap = 0;
    for (size_t i = 0; i < n; i++)
        answer_one(&at[i]);
    free(at);
}

/* Nobody hears that nothing was written before that is true. */
static void hold_answers(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->answers.n; i++)
        vec_push(&ctl->held, ctl->answers.at[i]);
    vec_clear(&ctl->answers);
}

/* Those go out with the next round. */
static void take_held(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->held.n; i++)
        vec_push(&ctl->answers, ctl->held.at[i]);
    vec_clear(&ctl->held);
}

/* ---- a failed commit ---- */

static void failed(struct ctl *ctl, const struct err *err)
{
    log_error("store.commit", "%s", err->what);
    ctl->counters.commits_failed++;
    participants_undo(ctl);
    for (size_t i = 0; i < ctl->answers.n; i++)
        if (ctl->answers.at[i].writes && ctl->answers.at[i].err.code == ERR_NONE)
            ctl->answers.at[i].err = *err;
    ctl->unwritten = true;
    ctl->no_room = err->code == ERR_FULL;
    store_release_ballast(ctl->config.store);
    ctl->retry_at = core_now(ctl) + RETRY_MS;
    core_wake(ctl, ctl->retry_at);
    if (store_undecided(ctl->config.store))
        hold_answers(ctl);
    else
        answer_all(ctl);
}

/* ---- one round ---- */

static void drop_dir(const char *dir, const char *below, uint64_t number)
{
    char path[4096];
    struct err err;
    snprintf(path, sizeof path, "%s/%s%llu", dir, below, (unsigned long long)number);
    if (file_remove_tree(path, &err))
        log_warn("runs.remove", "%s", err.what);
}

static void drop_doomed(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->doomed.n && !taped_replays(ctl); i++) {
        drop_dir(ctl->config.runs_dir, "", ctl->doomed.at[i]);
        if (ctl->config.users_dir)
            drop_dir(ctl->config.users_dir, "jobs/", ctl->doomed.at[i]);
    }
    vec_clear(&ctl->doomed);
}

/* Calls by what was committed; jobs that ended leave memory. */
static void act_all(struct ctl *ctl)
{
    TURN_WORK(ctl->config.meter, "engine calls", 0);
    uint64_t *ids = ctl->touched.at;
    size_t n = ctl->touched.n;
    ctl->touched.at = NULL;
    ctl->touched.n = ctl->touched.cap = 0;
    for (size_t i = 0; i < n; i++) {
        struct live_job *job = live_find(ctl->live, ids[i]);
        if (job) {
            ctl->own_touched = ctl->own_touched || job->notes.own;
            job->touched = false;
            pass_note(ctl, job);
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct live_job *job = live_find(ctl->live, ids[i]);
        bool over = !job || job_state_final(job->row.state);
        rdzv_table_forget(ctl->rdzv_table, ids[i], over ? 0 : job->row.generation);
        if (job && over)
            load_forget(ctl, job);
        else if (job)
            act_job(ctl, job);
    }
    free(ids);
    early_images_go_on(ctl->images);
    arrays_committed(ctl->arrays);
    allocations_acted(ctl);
    if (live_count(ctl->live) > 0)
        ctl->idle_since = 0;
    else if (ctl->idle_since == 0)
        ctl->idle_since = core_now(ctl);
}

static void settle_all(struct ctl *ctl)
{
    TURN_WORK(ctl->config.meter, "consequences", 0);
    size_t i = 0;
    array_work_go_on(ctl);
    removal_go_on(ctl);
    do {
        for (; i < ctl->touched.n; i++) {
            struct live_job *job = live_find(ctl->live, ctl->touched.at[i]);
            if (job)
                settle_job(ctl, job);
            if (job)
                rdzv_table_follow(ctl->rdzv_table, job);
        }
    } while ((int)arrays_settle(ctl->arrays) | (int)depend_work_settle(ctl)); /* both */
}

/* What of it was no work of this thread it waited for the disk. */
static int timed_commit(struct ctl *ctl, struct err *err)
{
    struct turn_meter *meter = ctl->config.meter;
    TURN_WORK(meter, "commit", 0);
    uint64_t cpu = meter ? clock_thread_us() : 0, wall = clock_mono_us();
    int rc = store_commit(ctl->config.store, err);
    if (meter) {
        cpu = clock_thread_us() - cpu;
        wall = clock_mono_us() - wall;
        turn_meter_disk(meter, wall > cpu ? wall - cpu : 0);
    }
    return rc;
}

/* A disk that was full is full again in a replay. */
static int commit_rows(struct ctl *ctl, struct err *err)
{
    bool replays = taped_replays(ctl);
    int rc = taped_outside(ctl, OUTSIDE_COMMIT, replays ? 0 : timed_commit(ctl, err), err);
    if (replays && rc)
        store_rollback(ctl->config.store);
    return replays && !rc ? timed_commit(ctl, err) : rc;
}

static bool commit(struct ctl *ctl)
{
    struct err err = { 0 };
    participants_record(ctl);
    if (store_dirty(ctl->config.store)) {
        clock_keep(ctl);
        ctl->counters.commits++;
        if (commit_rows(ctl, &err)) {
            failed(ctl, &err);
            return false;
        }
    }
    bool board = ctl->board_touched;
    ctl->board_touched = false;
    participants_committed(ctl);
    answer_all(ctl);
    drop_doomed(ctl);
    uint64_t last = store_last_event(ctl->config.store);
    if (last != ctl->last_event && ctl->watch.events)
        ctl->watch.events(ctl->watch.arg, last);
    ctl->last_event = last;
    if (board && ctl->watch.board)
        ctl->watch.board(ctl->watch.arg);
    act_all(ctl);
    bool large = arena_used(ctl->scratch) > LARGE;
    arena_reset(ctl->scratch);
    if (large)
        mem_trim();
    return true;
}

static bool plans_now(struct ctl *ctl)
{
    return ctl->plan_due && !ctl->unwritten && !slices_put_off_plan(ctl);
}

void ctl_turn(struct ctl *ctl)
{
    if (ctl->in_turn)
        return;
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_TURN });
    uint64_t done = ctl->counters.commits + ctl->counters.plans;
    taped.idle = nothing_now(ctl) && !ctl->plan_due;
    ctl->in_turn = true;
    if (!store_undecided(ctl->config.store))
        take_held(ctl);
    bool went_well = true;
    for (int round = 0; went_well && round < ROUNDS_MAX; round++) {
        bool waits = ctl->retry_at > core_now(ctl) && ctl->answers.n == 0;
        if (!waits) {
            facts_apply(ctl);
            settle_all(ctl);
        }
        /* Before the commit: a rendezvous is not in the records, and what its launchers hold is
         * what a restarted server goes on from. A slow or full disk does not hold up their round.
         */
        rdzv_table_act(ctl->rdzv_table);
        if (waits)
            break; /* a commit failed a moment ago: facts wait */
        if (!nothing_now(ctl)) {
            went_well = commit(ctl);
            continue;
        }
        if (ctl->facts.n) /* no row came of them: there is nothing to wait for */
            facts_committed(ctl);
        if (taped_answered(ctl))
            continue;
        if (!plans_now(ctl))
            break;
        ctl->passes++;
        planning_run(ctl);
        if (nothing_now(ctl))
            break;
    }
    ctl->counters.turns++;
    taped.idle &= done == ctl->counters.commits + ctl->counters.plans;
    if (went_well && (!nothing_now(ctl) || (ctl->plan_due && !ctl->unwritten)))
        core_wake(ctl, ctl->retry_at > core_now(ctl) ? ctl->retry_at : core_now(ctl));
    ctl->in_turn = false;
}
