/* The operator's command that makes sure a machine is dead (--fence): run for those that jobs wait
 * for, and what follows when it says so. */
#ifndef MAIN_FENCER_H
#define MAIN_FENCER_H

#include <stdint.h>

struct ctl;
struct engine;
struct uv_loop_s;

struct fencer_config {
    struct uv_loop_s *loop;
    struct ctl *ctl;
    struct engine *machines;
    const char *command; /* for sh; MUSTER_MACHINE is the machine's name. Outlives it */
    uint64_t after_ms;   /* of silence */
};
struct fencer;
struct fencer *fencer_create(const struct fencer_config *);
void fencer_destroy(struct fencer *); /* after the core; commands that run are killed. NULL-safe */

#endif
