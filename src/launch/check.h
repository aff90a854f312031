/* The node check of one node: processor and memory (matmul), disk write, loopback, and latency and
 * bandwidth with the others of its group; with CUDA a torch program does matmul and all-reduce.
 * Runs in a child process with a deadline, so that a stuck device cannot hold the launcher. */
#ifndef LAUNCH_CHECK_H
#define LAUNCH_CHECK_H

#include "launch/settings.h"

#include <uv.h>

struct check;
/* Opens the port the others connect to; 0: none could be had (checks then only test this node). */
struct check *check_create(uv_loop_t *, const struct settings *, const char *addr,
                           void (*done)(void *arg, const struct rdzv_check_report *), void *arg);
void check_destroy(struct check *); /* NULL-safe */
uint16_t check_port(const struct check *);
/* Runs one order; done is called once with its answer (texts valid during the call). A new order
 * ends a running one. At most 300 s. */
void check_run(struct check *, const struct rdzv_check *order);

#endif
