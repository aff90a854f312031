/* A launch for a machine that does not see this server's disk: what of it travels. */
#ifndef ENGINE_MACHINES_REMOTE_LAUNCH_H
#define ENGINE_MACHINES_REMOTE_LAUNCH_H

#include "base/arena.h"
#include "base/err.h"
#include "job/launch.h"

struct remote_code {   /* of the job; both NULL: it has none */
    const char *hash;  /* of an archive that is kept already */
    const char *dir;   /* to be packed */
    const char *under; /* the name that its tasks see it by, in their working directory; NULL: they
                        * start in it */
};
/* launch is changed: what lies on this disk is named below launch->dir, where the agent looks for
 * it in its own (node/rebase.h), and files that were made there are in launch->files. In arena. */
int remote_launch(struct launch *launch, struct arena *, struct remote_code *, struct err *);

#endif
