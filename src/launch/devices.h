/* How many accelerators and processors this node has for ranks, without loading any driver. */
#ifndef LAUNCH_DEVICES_H
#define LAUNCH_DEVICES_H

#include <stdint.h>

/* root: "" (tests give a directory that looks like a machine). CUDA: /dev/nvidiaN, else
 * /proc/driver/nvidia/gpus, else the GPUs of /sys/class/kfd (ROCm answers as CUDA in torch); at
 * most as many as CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES) names. */
uint32_t devices_cuda(const char *root);
/* Intel GPUs: render nodes of that vendor, at most as many as ZE_AFFINITY_MASK names. */
uint32_t devices_xpu(const char *root);
uint32_t devices_cores(void); /* in the affinity mask; at least 1 */

#endif
