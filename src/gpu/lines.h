/* A report as lines of key=value, from the process that asked the driver to the one that wants to
 * know. */
#ifndef GPU_LINES_H
#define GPU_LINES_H

#include "base/buf.h"
#include "job/gpu.h"

void gpu_lines_put(const struct gpu_report *, struct buf *out);
/* 0; -1: the text is not whole (its last line is "end=1") or no such text. Strings are in arena. */
int gpu_lines_read(struct arena *, const char *text, struct gpu_report *out);

#endif
