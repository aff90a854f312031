/* The core and what it knows of nodes (inventory/): commands about nodes and machines in a turn,
 * and news about their devices. */
#ifndef CTL_NODE_WORK_H
#define CTL_NODE_WORK_H

#include "ctl/ctl.h"

struct device_trouble;
struct gpu_report;
struct known_machines;
struct machine;
struct strangers;

/* Which the core has; they are read directly. strangers NULL: nobody has looked. */
const struct known_machines *ctl_machines(struct ctl *);
const struct strangers *ctl_strangers(const struct ctl *);

/* ---- commands, answered at the end of the turn like those of ctl.h ---- */
void ctl_node_command(struct ctl *, const char *node, bool drain, ctl_done *, void *arg);
void ctl_machine_put(struct ctl *, const struct machine *, ctl_done *, void *arg); /* at_ms: now */
void ctl_machine_remove(struct ctl *, const char *name, bool force, ctl_done *, void *arg);
void ctl_machine_fence(struct ctl *, const char *name, const char *reason, ctl_done *, void *arg);

/* ---- news ---- */
/* Said with why the machine cannot be reached, until it can be. */
void ctl_machine_note(struct ctl *, const char *name, const char *note);
/* That device of a node is not given out while something is wrong with it; NULL: it is. What tasks
 * have of it they keep, and an event tells their jobs when it closes. */
void ctl_device(struct ctl *, const char *node, uint32_t device, const struct device_trouble *);
/* The node has those devices of the report that have a slot, never fewer than before. It outlives
 * the core. */
void ctl_devices(struct ctl *, const char *node, struct gpu_report *);
/* inventory/left_devices.h: device_in_use(), device_left(), device_seen(). */
bool ctl_device_in_use(const struct ctl *, const char *node, uint32_t device);
uint64_t ctl_device_left(const struct ctl *, const char *node, uint32_t device);
void ctl_device_seen(struct ctl *, const char *node, uint32_t device);

/* ---- inside ctl/ ---- */
void node_work_begin(struct ctl *); /* makes the inventory, of the configuration */
void node_work_end(struct ctl *);
void node_work_find_strangers(struct ctl *); /* jobs are loaded */

#endif
