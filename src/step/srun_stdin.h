/* What srun reads, for its tasks. */
#ifndef STEP_SRUN_STDIN_H
#define STEP_SRUN_STDIN_H

#include "base/err.h"
#include "wire/step.h"

#include <stdbool.h>
#include <uv.h>

struct srun_stdin_sink {
    bool (*give)(void *arg, const struct step_data *); /* false: no more for now */
    void *arg;
};
struct srun_stdin;
/* from: --input; NULL or "all": srun's own stdin, for all tasks; a number: for that rank; "none";
 * else a file. NULL without err: there is nothing to read. Reading begins with srun_stdin_go_on().
 */
struct srun_stdin *srun_stdin_create(uv_loop_t *, const char *from, struct srun_stdin_sink,
                                     struct err *);
void srun_stdin_go_on(struct srun_stdin *);   /* there is room again; NULL-safe */
void srun_stdin_destroy(struct srun_stdin *); /* NULL-safe */

#endif
