/* Silent machines that jobs wait for. */
#ifndef ANSWER_MACHINE_WAIT_H
#define ANSWER_MACHINE_WAIT_H

#include "job/words.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct ctl;

/* Machines that have been silent for so long and that a job waits for: it cannot go on, or end,
 * without them. In arena. */
struct machine_wait {
    struct words names;
    bool
        cut_off; /* there are several machines, and none is heard: that may be the server's fault */
};
struct machine_wait answer_machines_waited(struct ctl *, struct arena *, uint64_t silent_ms);

#endif
