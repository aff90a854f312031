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
    void (*taken)(void *arg); /* some input: tasks_input_waits() is less */
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
size_t tasks_input_waits(const struct tasks *); /* bytes, of the task that is behind most */
bool tasks_take_input(const struct tasks *);    /* may more be handed over? */
void tasks_hold(struct tasks *, bool hold);     /* read no output for now */
/* A child of this process has ended. true: it was one of these. */
bool tasks_reap(struct tasks *, pid_t pid, int status);
bool tasks_done(const struct tasks *); /* all have ended, and that was told */
void tasks_destroy(struct tasks *);    /* kills what lives; NULL-safe */

#endif
