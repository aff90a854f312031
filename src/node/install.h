/* Python packages of a job, installed into its environment before its first task starts. */
#ifndef NODE_INSTALL_H
#define NODE_INSTALL_H

#include "base/err.h"
#include "node/task.h"

struct install;
struct install_sink {
    void (*done)(void *arg, const char *problem); /* NULL: installed */
    void *arg;
};
/* Runs pip in the background with the environment of task (and its code, when a requirements file
 * may lie there); its output goes into that task's log. NULL when it cannot start. */
struct install *install_start(uv_loop_t *, struct task *, const struct launch *,
                              struct install_sink, struct err *);
void install_destroy(struct install *); /* NULL-safe; kills it when it still runs */

#endif
