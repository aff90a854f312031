/* What a driver says of a device, in words: for nodes and for jobs. */
#ifndef CLI_DEVICE_TEXT_H
#define CLI_DEVICE_TEXT_H

#include "base/arena.h"
#include "text/tree.h"

/* "90% busy, 512 MiB used, 61 C, 350 W, 1980 MHz, slowed by power cap"; what the driver does not
 * say is left out, so it may be "". device: one of an answer's `devices`. In arena. */
const char *device_figures_text(struct arena *, const struct text_node *device);
/* "power cap, hardware thermal"; "" when nothing slows it down. In arena. */
const char *device_throttle_text(struct arena *, const struct text_node *device);

#endif
