/* NVIDIA's management library (NVML), loaded where it is installed. It is asked in a process of its
 * own (gpu/ask.h): a driver that hangs or crashes takes only that along. */
#ifndef GPU_NVML_H
#define GPU_NVML_H

#include "base/arena.h"
#include "job/gpu.h"

/* What it says of this machine. Without the library: no devices, and an error when there are device
 * files all the same. */
void gpu_nvml_read(struct arena *, struct gpu_report *out);

#endif
