/* The rendezvous of this launcher: its backend, its address, the run id, the node rank. Reads the
 * flags, the job's environment and --rdzv-conf; the numbers of nodes are set already. */
#ifndef LAUNCH_RDZV_SETTINGS_H
#define LAUNCH_RDZV_SETTINGS_H

#include "flags/flags.h"
#include "launch/rdzv_conf.h"
#include "launch/settings.h"

/* say: sentences about what was given and is not used. */
int rdzv_settings_decide(struct settings *, struct arena *, const struct flags *,
                         const struct rdzv_conf *, void (*say)(void *arg, const char *sentence),
                         struct err *err);
const char *rdzv_settings_random_id(struct arena *); /* a UUID, as uuid.uuid4() of Python */

#endif
