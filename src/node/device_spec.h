/* What a specification of CDI says of the devices of a task, for its image. */
#ifndef NODE_DEVICE_SPEC_H
#define NODE_DEVICE_SPEC_H

#include "cdi/edits.h"
#include "job/launch.h"

struct cdi_place;
/* In arena; place NULL: the usual one. NULL: there is none of them, or, with a log line that says
 * why, none that can be used: then devices and driver are found as without (node/devices.h,
 * node/driver.h). Of each library that it mounts there is a link of the name that programs load it
 * by, as ldconfig would make it. */
const struct cdi_edits *device_spec_find(struct arena *, const struct cdi_place *,
                                         const struct launch_task *);

#endif
