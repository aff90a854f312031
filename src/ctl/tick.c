/* Deadlines: back-off, run-time and pending limits, holds, record keeping, and coming back after a
 * full disk. */
#include "account/audit.h"
#include "ctl/clock.h"
#include "ctl/core.h"
#include "ctl/slices.h"
#include "ctl/wait_texts.h"
#include "inventory/strangers.h"
#include "rdzv/jobs/rdzv_table.h"

#include "base/log.h"
#include "base/scan.h"
#include "base/turn_meter.h"
#include "store/deletion.h"
#include "store/disk.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define EXPIRE_EVERY_MS 60000ull

static void run_time(struct ctl *ctl, struct live_job *job, uint64_t now)
{
    const struct job_spec *spec = job->spec;
    if (!spec || !spec->limits.run_time_ms.has || job->notes.began_ms == 0 || live_closing(job) ||
        !job_state_holds(job->row.state)) /* one that waits again began before */
        return;
    if (job->notes.began_ms + spec->limits.run_time_ms.value > now)
        return;
    const struct reason why = { .kind = REASON_RAN_LONG, .ms = spec->limits.run_time_ms.value };
    bool stops = convention_of(ctl->config.dialects, spec)->over_time_stops;
    settle_close(ctl, job, stops ? OUTCOME_STOPPED : OUTCOME_FAILED, BY_LIMIT, &why);
    job->notes.hold_until_ms = 0;
    event_job_row(ctl, job);
}

static void pending(struct ctl *ctl, struct live_job *job, uint64_t now)
{
    const struct reader owner = reader_of(ctl->accounts, NULL, job->row.owner);
    uint64_t at = job->notes.pending_until_ms;
    if (at == 0 || at > now || job->row.state != JOB_QUEUED || job->row.generation > 0)
        return;
    const struct sentence was = reason_of(ctl, &owner, job);
    settle_end(ctl, job, JOB_EV_FAIL, &(struct reason){ .kind = REASON_WAITED_LONG, .said = &was });
}

static void later(struct ctl *ctl, struct live_job *job, uint64_t now)
{
    if (job->row.state == JOB_QUEUED && job->row.not_before_ms)
        ctl->plan_due |= job->row.not_before_ms <= now;
    if (live_in_phases(job, phase_comes_again) && !live_closing(job)) {
        core_touch(ctl, job); /* settling places what is due and asks for the rest */
        ctl->plan_due |= live_in_phase(job, PHASE_UNPLACED) > 0;
    }
    ctl->plan_due |= job->notes.rest_ms && job->notes.rest_ms <= now && job->waits;
    if (job->silent)
        core_touch(ctl, job); /* what can go on without its silent machines does */
    if (job->won_ms && !live_closing(job))
        core_touch(ctl, job); /* launchers that did not end by themselves are stopped */
    uint64_t hold = job->notes.hold_until_ms;
    if (hold && hold <= now)
        core_touch(ctl, job); /* acting releases it */
}

static void look_at_due(struct ctl *ctl, uint64_t now)
{
    for (uint64_t first; (first = deadlines_first(ctl)) && first <= now;) {
        struct live_job *job = live_find(ctl->live, deadlines_take(ctl));
        if (!job)
            continue;
        run_time(ctl, job, now);
        pending(ctl, job, now);
        later(ctl, job, now);
    }
    core_wake(ctl, deadlines_first(ctl));
}

/* What is to be told now may come before what is being told: agents take launches in order. */
static void relaunch(struct ctl *ctl, struct live_job *job)
{
    launch_drop(ctl, job);
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++) {
        struct live_task *task = &job->tasks[flat];
        if (task->attempt_state != ATTEMPT_STARTING)
            continue;
        live_set_phase(job, task, phase_told(task->phase) ? PHASE_RELAUNCH : PHASE_PLACED);
        core_touch(ctl, job);
    }
}

/* Directories of jobs that no row knows. */
static void sweep_runs(struct ctl *ctl)
{
    DIR *dir = taped_replays(ctl) ? NULL : opendir(ctl->config.runs_dir);
    struct dirent *entry;
    uint64_t number, id;
    while (dir && (entry = readdir(dir)))
        if (scan_u64(entry->d_name, 1, UINT64_MAX, &number) &&
            store_find_number(ctl->config.store, number, &id) == 0 &&
            !strangers_in(ctl->strangers, number))
            vec_push(&ctl->doomed, number);
    if (dir)
        closedir(dir);
}

static void expire(struct ctl *ctl, uint64_t now)
{
    TURN_WORK(ctl->config.meter, "expired records", 0);
    struct arena *arena = arena_create();
    uint64_t *jobs;
    size_t n = 0;
    if (store_expire(ctl->config.store, arena, now, &jobs, &n, NULL) == 0 && n > 0)
        sweep_runs(ctl);
    ctl->slices.deleting |= n > 0;
    audit_expire(ctl->accounts);
    ctl->expire_at = n == STORE_EXPIRE_JOBS ? now : now + EXPIRE_EVERY_MS;
    arena_destroy(arena);
}

static int make_ballast(struct ctl *ctl)
{
    struct store *store = ctl->config.store;
    return taped_replays(ctl) || (store_decide(store, NULL) == 0 && store_make_ballast(store)) ? 0
                                                                                               : -1;
}

static void come_back(struct ctl *ctl, uint64_t now)
{
    if (ctl->retry_at > now)
        return;
    bool recorded = ctl->facts.n == 0; /* what has ended comes before the ballast */
    if (recorded && taped_outside(ctl, OUTSIDE_BALLAST, make_ballast(ctl), NULL) == 0) {
        ctl->unwritten = false;
        ctl->retry_at = 0;
        ctl->plan_due = true;
        log_info("store.room", "submissions are taken again");
        return;
    }
    ctl->retry_at = 0; /* facts are tried again; submissions stay refused */
    core_wake(ctl, now + 1000);
}

void ctl_tick(struct ctl *ctl)
{
    TURN_WORK(ctl->config.meter, "deadlines", 0);
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_TICK });
    uint64_t now = core_now(ctl);
    size_t cursor = 0;
    struct live_job *job;
    bool relaunching = ctl->relaunch_at && ctl->relaunch_at <= now;
    ctl->wake_at = 0;
    slices_begin(ctl);
    clock_look(ctl);
    if (relaunching)
        ctl->relaunch_at = 0;
    core_wake(ctl, ctl->relaunch_at);
    if (ctl->replan_at && ctl->replan_at <= now) {
        cluster_expire_blocks(ctl->cluster, now);
        uint64_t next = cluster_unblocks(ctl->cluster);
        ctl->replan_at = next == UINT64_MAX ? 0 : next;
        ctl->plan_due = true;
    }
    core_wake(ctl, ctl->replan_at);
    if (ctl->unwritten)
        come_back(ctl, now);
    core_wake(ctl, ctl->retry_at > now ? ctl->retry_at : 0);
    look_at_due(ctl, now);
    while (relaunching && live_next(ctl->live, &cursor, &job))
        relaunch(ctl, job);
    rdzv_table_tick(ctl->rdzv_table);
    if (ctl->expire_at <= now && !ctl->unwritten)
        expire(ctl, now);
    core_wake(ctl, ctl->expire_at > now ? ctl->expire_at : now + 1000);
    ctl_turn(ctl);
}
