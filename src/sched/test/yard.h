/* A cluster with queues, users and jobs that come, wait, run, end and are evicted, on a time of its
 * own: what the core does around the scheduler, in small. Every plan is held against books kept
 * apart; what is wrong goes to fail_msg() with the time and the plan. */
#ifndef SCHED_TEST_YARD_H
#define SCHED_TEST_YARD_H

#include "sched/plan.h"
#include "sched/test/ledger.h"
#include "sched/test/world.h"

#define YARD_JOBS   64u
#define YARD_QUEUES 8u
#define YARD_USERS  8u
#define YARD_START  UINT64_C(1000000) /* times of jobs and checks count from here */
#define YARD_USUAL  100000u           /* the run time of jobs without a limit */
#define YARD_NEVER  UINT64_MAX

struct yard_want { /* what one submits; 0 is 1 for tasks, priority 5 and no bundle */
    const char *name;
    uint64_t at_ms, run_ms, limit_ms /* 0: none; then it runs YARD_USUAL at most */, grace_ms;
    uint32_t queue, user, priority, tasks, min, gpus, cpus; /* of a task */
    uint32_t milli;                                         /* instead of gpus: of one device */
    enum capacity_class capacity;
    bool preemptible;
    uint64_t bundle, bid;
    uint32_t bundle_size;
    const char *zone; /* label of its nodes */
};
enum yard_state { YARD_COMING, YARD_WAITING, YARD_RUNNING, YARD_LEAVING, YARD_DONE };
struct yard_job {
    struct yard_want want;
    struct job_spec *spec;
    enum yard_state state;
    uint64_t id, shape, started_ms, ends_ms /* really */, done_ms, saved_ms;
    uint64_t promised_ms, expected_ms; /* the first and the last thing it was told; 0: nothing */
    uint64_t evicted_for;              /* id of the last claimant, while it waits */
    struct task_place *places;
    uint32_t n_places;
    struct held_places held;
    bool idle, claims, again; /* again: it requeues when it has left */
    uint32_t starts, evictions;
    bool excused; /* what it was told does not hold it any more */
    struct wait_reason why;
};
struct yard {
    struct world world;
    struct ledger ledger;
    struct queue_spec queues[YARD_QUEUES];
    struct sched_user users[YARD_USERS];
    uint64_t gpu_ms[YARD_USERS];
    size_t n_queues, n_users;
    struct yard_job jobs[YARD_JOBS];
    uint32_t n;
    uint64_t now_ms, seed, steps, evictions, digest /* of every plan */;
    bool lines;     /* jobs that ask for the same stand in one line */
    bool keeps;     /* ranks do not change but by arrivals: promises are held to their word */
    bool permuted;  /* every plan is made again with the jobs in another order */
    uint32_t depth; /* of the snapshot */
    struct plan last;
};

struct yard *yard_create(uint32_t nodes, uint32_t gpus);
void yard_destroy(struct yard *);
/* Position in queues[]; everything else of it may be set there. sure 0, most UINT32_MAX: in gpus.
 */
uint32_t yard_queue(struct yard *, enum queue_strategy, uint32_t parent, uint32_t sure,
                    uint32_t most);
struct yard_job *yard_add(struct yard *, const struct yard_want *);
#define YARD_JOB(yard, ...) yard_add((yard), &(struct yard_want){ __VA_ARGS__ })

/* Until nothing happens any more, or time is up; 0: at the next thing that happens. One step is one
 * moment, with the plans made in it. false: nothing is left to come. */
bool yard_step(struct yard *);
void yard_until(struct yard *, uint64_t ms);
void yard_run(struct yard *);
void yard_node(struct yard *, uint32_t node, bool up);

/* "a 0-10 b 10-" : when each started last and ended, in seconds, in the order of submission. */
const char *yard_show(struct yard *);
struct yard_job *yard_find(struct yard *, const char *name);
/* What keeps it waiting. */
enum wait_why yard_why(struct yard *, const char *name);

/* ---- between the two files of it ---- */

struct yard_job *yard_by_id(struct yard *, uint64_t id);
uint64_t yard_lasts(const struct yard_job *);
/* The plan against the books as they were before it; applies nothing. */
void yard_judge(struct yard *, const struct sched_snapshot *, const struct plan *);
_Noreturn void yard_fail(struct yard *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
