/* Looks at devices that tasks have left: the driver may still hold what the last one had, so the
 * next launch there waits for a look that began later (ctl_device_seen). */
#ifndef CTL_DEVICE_CHECK_H
#define CTL_DEVICE_CHECK_H

#include "live/live.h"

struct ctl;

/* A task has left the devices of that place, or may have before this server. */
void device_check_leave(struct ctl *, const struct task_place *);
/* The same for the devices on which a job that was just loaded is still to be launched. */
void device_check_load(struct ctl *, const struct live_job *);
/* Why launches of the job wait, in arena; NULL: they do not. Asks for a look where they do. */
const char *device_check_wait(struct ctl *, struct arena *, const struct live_job *);

#endif
