/* Asking the driver of this machine's accelerators, in a process of its own with a deadline. */
#ifndef GPU_ASK_H
#define GPU_ASK_H

#include "base/arena.h"
#include "job/gpu.h"

#include <stdbool.h>
#include <stdint.h>

/* The name under which `muster` is the program that asks and prints lines (gpu/lines.h). */
#define GPU_ASK_NAME "list-gpus"

/* program: muster itself; NULL: this process's own file. Never fails: what went wrong is
 * report->error. Blocks until the answer is there, at most MUSTER_GPU_TIMEOUT_S seconds (30). */
void gpu_ask(struct arena *, const char *program, struct gpu_report *);

/* The same for whoever starts with it: slow is called once when no answer has come for a while, and
 * with .known devices, which are closed until there is one, it is waited for 5 seconds, where
 * MUSTER_GPU_TIMEOUT_S says nothing else. */
struct gpu_ask_start {
    bool known;
    void (*slow)(uint64_t waits_ms); /* so long at most */
};
void gpu_ask_at_start(struct arena *, const struct gpu_ask_start *, struct gpu_report *);

/* How long an answer may take, in milliseconds. */
uint64_t gpu_ask_limit_ms(void);

#endif
