/* The runs of a machine under one host: a directory DIR/runs/JOB.GENERATION.NODE each, that of its
 * agent, with a keeper that outlives the host. */
#ifndef NODE_HOST_RUNS_H
#define NODE_HOST_RUNS_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/host.h"

#include <uv.h>

struct host_runs_config { /* texts outlive it */
    uv_loop_t *loop;
    const char *dir;     /* of the host */
    const char *node;    /* its name */
    const char *program; /* muster-node */
    /* Nothing of that run lives; from the loop, or from inside a call. */
    void (*ended)(void *arg, struct generation, const char *reason);
    void *arg;
};
struct host_runs;
/* Finds those of an earlier host, and removes what it was about to. NULL: DIR/runs cannot be made.
 */
struct host_runs *host_runs_create(const struct host_runs_config *, struct err *err);
void host_runs_destroy(struct host_runs *); /* keepers go on */

/* How an agent reaches its server: lines that say where that is, and the host's session with it
 * (run/run.h). */
struct server_route {
    const char *server;
    const void *session;
    size_t session_len;
};
/* Each may be repeated. A start of a run that is over is told as ended, until it was cleaned. */
void host_runs_start(struct host_runs *, const struct wire_host_start *,
                     const struct server_route *);
void host_runs_end(struct host_runs *, struct generation);
void host_runs_clean(struct host_runs *, struct generation);
void host_runs_end_all(struct host_runs *);
size_t host_runs_living(const struct host_runs *);
/* The server is elsewhere now, for agents that live too. */
void host_runs_move(struct host_runs *, const char *server);
/* All that have a directory. In arena. */
void host_runs_list(const struct host_runs *, struct arena *, struct wire_host_runs *);

#endif
