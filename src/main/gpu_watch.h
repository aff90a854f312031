/* Looks at the machine's devices while the server runs: one that fails, that a task of another
 * server holds, or that programs outside muster use, is not given out until that is over. */
#ifndef MAIN_GPU_WATCH_H
#define MAIN_GPU_WATCH_H

#include "ctl/ctl.h"
#include "sched/cluster.h"

#include <stdint.h>
#include <uv.h>

struct gpu_watch_config {
    uv_loop_t *loop;
    struct ctl *ctl;
    struct node_spec *node; /* its report is kept up to date */
    const char *socket;     /* of this server */
    const char *known;      /* file of its devices (main/gpus.h) */
    uint64_t bound;         /* bytes of a device that other programs may use */
};
/* NULL: the machine has neither devices nor a driver that fails. Everything outlives it. */
struct gpu_watch *gpu_watch_create(const struct gpu_watch_config *);
/* A launch waits for a look that begins from now on. NULL-safe; calls nobody at once. */
void gpu_watch_look(struct gpu_watch *);
void gpu_watch_destroy(struct gpu_watch *); /* NULL-safe; before the loop runs a last time */

#endif
