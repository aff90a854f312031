/* The code of a job, fetched over the agent's connection by its SHA-256: once for all agents of the
 * node, which share a directory for it that has a limit. Pieces are asked for, a few at a time, so
 * the connection never fills with them; what was lost with a connection is asked for again. */
#ifndef NODE_FETCH_H
#define NODE_FETCH_H

#include "base/err.h"
#include "wire/message.h"

#include <uv.h>

#define FETCH_PIECE   (256u << 10)
#define FETCH_AT_ONCE 4 /* pieces that were asked for and have not come */

struct fetch_sink {
    /* Sends the question, when there is a connection: else fetch_again comes with the next. */
    void (*ask)(void *arg, const struct wire_code_request *);
    /* Once: the file is there. Whoever unpacks it looks whether its bytes are those of its name. */
    void (*done)(void *arg, const struct err *problem);
    void *arg;
};
struct fetch;
/* path: of the file, whose name is the hash. limit: bytes of all such files in its directory, of
 * which the oldest go, but none that was used within the last minute. */
struct fetch *fetch_start(uv_loop_t *, const char *path, uint64_t limit, struct fetch_sink);
void fetch_destroy(struct fetch *); /* NULL-safe */

void fetch_again(struct fetch *); /* the connection is a new one */
void fetch_piece(struct fetch *, const struct wire_piece *);

#endif
