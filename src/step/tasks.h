/* The tasks of one step on this node: started, read, fed, signalled, and ended with what they left
 * in their process groups. */
#ifndef STEP_TASKS_H
#define STEP_TASKS_H

#include "wire/step.h"

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct tasks_sink {
    void (*output)(void *arg, const struct step_data *);
    /* Once, after all output of the task. */
    void (*ended)(void *arg, const struct step_ended_task *);
    void (*drained)(void *arg); /* tasks_take_input() again, after it did not */
    void *arg;
};
struct tasks;
/* start lives as long as the tasks do. Every task of it will end, also one that cannot be started.
 * own: the environment of this node. */
struct tasks *tasks_start(uv_loop_t *, const struct step_start *start, char *const *own,
                          struct tasks_sink);
void tasks_signal(struct tasks *, int number);
/* A rank's stdin, or of all. NULL: that was all. */
void tasks_input(struct tasks *, const struct step_data *);
bool tasks_take_input(struct tasks *);      /* may more be handed over? Else drained says when */
void tasks_hold(struct tasks *, bool hold); /* read no output for now */
/* A child of this process has ended. true: it was one of these. */
bool tasks_reap(struct tasks *, pid_t pid, int status);
bool tasks_done(const struct tasks *); /* all have ended, and that was told */
void tasks_destroy(struct tasks *);    /* kills what lives; NULL-safe */

#endif
