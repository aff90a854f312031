/* One attempt of a task: started in its view, watched, stopped, and its end reported when nothing
 * of it runs any more. */
#ifndef NODE_TASK_H
#define NODE_TASK_H

#include "job/ending.h"
#include "node/input.h"
#include "node/output.h"
#include "node/site.h"
#include "node/stage.h"

#include <stdbool.h>
#include <stdint.h>

struct task;
struct task_end { /* valid during the call that tells it */
    struct ending ending;
    const char *remark; /* for people: "cannot start: no such file"; "": the numbers say all */
};
struct task_sink { /* each at most once per task, except grew; refused or ended is the last */
    void (*started)(void *arg, struct task *);
    void (*refused)(void *arg, struct task *, const struct task_end *);
    /* Its program is gone while others of it live; ended follows. */
    void (*died)(void *arg, struct task *, const struct task_end *);
    void (*ended)(void *arg, struct task *, const struct task_end *);
    void (*grew)(void *arg, struct task *); /* its log */
    void *arg;
};

/* All memory it needs is taken here. what points into batch, which the task holds from now on. */
struct task *task_create(struct site *, struct batch *, const struct launch_task *what,
                         struct task_sink);
/* Only when over, or when the agent leaves. Memory goes when libuv has let go of it. NULL-safe. */
void task_destroy(struct task *);

/* Makes its directory and shows its code, once; task_start does it when nobody did. */
int task_prepare(struct task *, struct err *err);
void task_start(struct task *);
/* Instead of a start. */
void task_refuse(struct task *, const struct task_end *why); /* by, cause, remark */
struct task_end task_fault(const struct err *);              /* of what could not be done */
#define TASK_UNSTARTED       "stopped before it started"
#define TASK_ALLOCATION_ENDS "the allocation of its node is being ended"
struct task_stop {
    bool now;  /* SIGKILL at once; else SIGTERM and the launch's grace */
    bool told; /* somebody else has sent it SIGTERM */
    enum end_origin why;
    enum end_cause cause;
    const char *remark; /* "" when why says all */
};
void task_stop(struct task *, const struct task_stop *);
/* To its processes: a signal that asks for something (job/signals.h) to those that catch it,
 * another to all. How many got it; 0 too for one that is not for people. */
size_t task_signal(const struct task *, int number);

/* Values are others now: its files have those. */
void task_renew_secrets(struct task *);

bool task_waits(const struct task *); /* not started yet */
bool task_is_over(const struct task *);
bool task_has_image(const struct task *); /* it runs in one */
struct task_ref task_place(const struct task *);
uint32_t task_attempt(const struct task *);
pid_t task_pid(const struct task *);
const char *task_cookie(const struct task *); /* MUSTER_ATTEMPT_COOKIE of its processes */
uint64_t task_log_end(const struct task *);
uint64_t task_wakeup(const struct task *); /* of the agent, that saw its program end; 0: none yet */
/* How further programs enter the task's view (exec); valid until the task is destroyed. NULL: its
 * view is not made yet, or could not be. */
const struct stage *task_stage(const struct task *);
bool task_keeps_stdin(const struct task *); /* was it launched with an open one? */
struct input *task_input(struct task *);    /* that one, while it runs; else NULL */
const char *task_log_dir(struct task *);    /* valid until it is destroyed */
struct task_log {                           /* valid until it is destroyed */
    const char *role, *dir;
    uint64_t head, tail; /* its cap */
};
struct task_log task_log(const struct task *);
uint32_t task_exit_code(const struct task *); /* of its program, when over; 128 + signal */
/* The output of the task; NULL when its log could not be made. */
struct output *task_output(struct task *);

#endif
