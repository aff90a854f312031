/* Common names of accelerators: what people, job files and batch systems call a model, and the
 * product name that its driver has. */
#ifndef JOB_GPU_MODEL_H
#define JOB_GPU_MODEL_H

#include <stdbool.h>

/* Is a device of that model, or one of several joined by GPU_MODELS_APART, what is called so? Case
 * and what stands between words do not count; every word has to be one of the product's name, of
 * its maker's, or of those that the table in gpu_model.c adds: "H100", "a100", "A100-SXM4-80GB",
 * "nvidia-tesla-v100", "V100M32" fit, "A10" is no A100. An instance of MIG ("NVIDIA H100 80GB HBM3
 * MIG 1g.10gb") is called by its profile or "MIG" besides: "1g.10gb", "H100 MIG 1g", not "H100". */
bool gpu_model_is(const char *model, const char *called);

#endif
