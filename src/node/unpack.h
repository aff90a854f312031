/* The code of a job that came as an archive: unpacked for each agent by a child that has the rights
 * of the job's account and no more, once it was seen to be what its name says. */
#ifndef NODE_UNPACK_H
#define NODE_UNPACK_H

#include "base/err.h"
#include "node/site.h"

struct unpack;
struct unpack_sink {
    void (*done)(void *arg, const struct err *problem); /* NULL: it is there */
    void *arg;
};
/* launch->archive, whose name is its SHA-256, becomes site->code_tree in the background. One that
 * is something else by now is removed. NULL when it cannot start. */
struct unpack *unpack_start(const struct site *, const struct launch *, struct unpack_sink,
                            struct err *);
void unpack_destroy(struct unpack *); /* NULL-safe; ends it when it still runs */

#endif
