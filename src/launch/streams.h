/* What the ranks of one launcher write: passed through, prefixed, teed, redirected, filtered as the
 * flags say; the last lines of every rank's stderr are kept for the summary. A stream that needs
 * nothing of this is the launcher's own descriptor (stdout mostly: no copy, no cost). stderr goes
 * through a pipe, so that the summary can show it; a rank's stderr is a terminal only when told so
 * (--no-stderr-tail). */
#ifndef LAUNCH_STREAMS_H
#define LAUNCH_STREAMS_H

#include "base/err.h"
#include "launch/settings.h"

#include <uv.h>

#define STREAMS_TAIL_MAX 2048u

struct streams;
struct streams *streams_create(uv_loop_t *, const struct settings *, struct err *);
void streams_destroy(struct streams *); /* NULL-safe; flushes what it has, closes */

/* Files of a round (log_dir/RUNID_XXXX/attempt_N/LOCAL/{stdout,stderr}.log, error.json) are made
 * and the pipes of each rank opened. The two descriptors are for the rank; close them with
 * streams_started. */
struct rank_ends {
    int out, err;
    const char *error_file; /* absolute; lives until the next round */
};
int streams_open(struct streams *, uint32_t attempt, uint32_t local_rank, struct rank_ends *,
                 struct err *);
void streams_started(struct streams *, uint32_t local_rank); /* our copies are closed */
/* Reads what lies in the pipes of a rank that ended, without waiting for children that hold them.
 */
void streams_finish(struct streams *, uint32_t local_rank);
const char *streams_tail(struct streams *, uint32_t local_rank, char out[STREAMS_TAIL_MAX]);

#endif
