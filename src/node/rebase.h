/* A launch of a server that shares no disk with this machine: what it says of the server's own
 * directories becomes this agent's. */
#ifndef NODE_REBASE_H
#define NODE_REBASE_H

#include "base/arena.h"
#include "base/err.h"
#include "job/launch.h"

struct rebase_target {
    const char *dir;      /* of the agent, in place of launch.dir */
    const char *code;     /* in place of launch.dir/code, without the name below; NULL: dir/code */
    const char *packages; /* where what is installed is kept; NULL: nowhere */
    const char *server;   /* what tasks reach it by, where it is reached on its own machine alone;
                             NULL: they do not */
};
/* Every path below launch.dir, also in the environment, is below to->dir then; a server that is
 * reached by a path or on its own machine alone has another address in the environment; the
 * interpreter is this machine's where the one that was named is not here. In arena. */
void rebase_launch(struct launch *, struct arena *, const struct rebase_target *);
/* marker: "TEXT PATH". The directory that PATH lies in, malloc'ed, when the file there has that
 * text: the server put it there, so this is the directory that it sees. Else NULL. */
char *rebase_find_shared(const char *marker);
/* launch.files, in launch.dir. */
int rebase_write_files(const struct launch *, struct err *);

#endif
