/* What is known of a machine's devices while its driver answers now and then: each keeps its slot
 * for good, whatever is listed later, and for the next server in a file. */
#ifndef GPU_DEVICE_SLOTS_H
#define GPU_DEVICE_SLOTS_H

#include "base/arena.h"
#include "base/err.h"
#include "job/gpu.h"

#include <stdbool.h>

/* The driver said this now. Devices that it does not list have an error; those that were not listed
 * before come last and have no slot yet. Texts that stay are copied to own; processes and links are
 * those of now. true: what is offered may differ, gpu_offer() is to follow. */
bool gpu_slots_follow(struct arena *own, struct gpu_report *known, const struct gpu_report *now);
/* It said nothing, or that it fails: no figure is known then. The text outlives the report, or
 * until the next call. */
void gpu_slots_fail(struct gpu_report *known, const char *error);

/* What the last server has left at path: the devices in their slots, in arena. n is 0 where there
 * is nothing, or nothing that can be read. */
void gpu_slots_read(struct arena *, const char *path, struct gpu_report *out);
/* Leaves it there. 0, or -1 with err. */
int gpu_slots_write(const char *path, const struct gpu_report *, struct err *err);

#endif
