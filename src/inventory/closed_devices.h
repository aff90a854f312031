/* Devices of nodes that are not given out, and why. What tasks have of one they keep; the planner
 * gives it to nobody else (sched/cluster.h). In memory alone: whoever looks at devices says it
 * again. */
#ifndef INVENTORY_CLOSED_DEVICES_H
#define INVENTORY_CLOSED_DEVICES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct job_spec;
struct live;
struct live_job;
struct task_place;

/* Why a device is not given out: "device 0 of vm is held by ...", "device 0 of vm: it fails". */
struct device_trouble {
    const char *why;
    uint32_t subject; /* bytes of it that name the device; 0: not known, as of a recording */
    bool is;          /* " is " follows them, else ": " */
};
struct closed_devices_config {
    struct cluster *cluster; /* whose planner is told */
    const struct live *live;
    void *arg;
    /* That task has the device that was just closed, so its job is told why. */
    void (*holds)(void *arg, struct live_job *, uint32_t flat, const char *why);
    /* A launch of the job on the device is still to be made: it is looked at in this turn. */
    void (*touch)(void *arg, struct live_job *);
};
struct closed_devices;
struct closed_devices *closed_devices_create(const struct closed_devices_config *);
void closed_devices_destroy(struct closed_devices *); /* NULL-safe */

/* It is not given out any more, and why; NULL: it is again. false: there is no such node. */
bool device_close(struct closed_devices *, const char *node, uint32_t device,
                  const struct device_trouble *);
/* Is it? Then why: texts are the table's own, until the device is closed or opened. */
bool device_trouble(const struct closed_devices *, const char *node, uint32_t device,
                    struct device_trouble *);
/* Why one of that place is not given out; NULL: all are. */
const char *closed_in_place(const struct closed_devices *, const struct task_place *);
/* The same of the first of all nodes that is not given out and that such a job (NULL: any) could
 * use, in that role (NULL: in any), and how many more there are; NULL: none is. In arena. */
const char *closed_for_job(const struct closed_devices *, struct arena *, const struct job_spec *,
                           const char *role);

#endif
