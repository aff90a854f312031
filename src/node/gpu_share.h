/* Tasks with a share of a GPU: what keeps their Python frameworks to that share of its memory
 * (gpu_share.py says how). */
#ifndef NODE_GPU_SHARE_H
#define NODE_GPU_SHARE_H

#include "base/err.h"
#include "base/pairs.h"

#include <stdbool.h>

#define GPU_SHARE "MUSTER_GPU_SHARE" /* the part of its one device, "0.5" */

bool gpu_share_has(const struct pairs *env);
/* Where PYTHONPATH of such tasks leads, below the job's own directory; malloc'ed. */
char *gpu_share_dir(const char *user_dir);
/* The directory of the MPS daemon that the task is told to use, where no daemon runs; NULL: one
 * does, or it is told of none. */
const char *gpu_share_lacks_mps(const struct pairs *env);
/* Makes what is there (dir is made when missing). Again for the same dir is harmless. */
int gpu_share_make(const char *dir, struct err *);

#endif
