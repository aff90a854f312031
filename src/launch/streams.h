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

/* SIGPIPE must be ignored, and 0, 1, 2 must be open (/dev/null will do) before the loop is made. */
struct streams;
struct streams *streams_create(uv_loop_t *, const struct settings *, struct err *);
void streams_destroy(struct streams *); /* NULL-safe; flushes what it has, closes */

/* Of the round that is opened next, for TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE's ${rank}; 0 until
 * told. */
void streams_round(struct streams *, uint32_t first_rank);
/* Files of a round (log_dir/RUNID_XXXX/attempt_N/LOCAL/{stdout,stderr}.log, error.json) are made
 * and the pipes of each rank opened. The two descriptors are for the rank (close-on-exec, but for 1
 * and 2 themselves, which are given where a stream is inherited); close them with streams_started.
 * The same attempt again goes on in the same files. */
struct rank_ends {
    int out, err;
    const char *error_file; /* absolute; lives until the next round; "": none (--log-dir /dev/null)
                             */
};
int streams_open(struct streams *, uint32_t attempt, uint32_t local_rank, struct rank_ends *,
                 struct err *);
void streams_started(struct streams *, uint32_t local_rank); /* our copies are closed */
/* Reads what lies in the pipes of a rank that ended, without waiting for children that hold them.
 */
void streams_finish(struct streams *, uint32_t local_rank);
/* Clean text, "" when nothing was written; also after streams_finish, until the next open. */
const char *streams_tail(struct streams *, uint32_t local_rank, char out[STREAMS_TAIL_MAX]);
/* Before the launcher itself writes much to stderr (the summary): what was read is on the console,
 * and the next byte begins a line. Waits at most 30 s for a console that takes nothing. */
void streams_flush(struct streams *);
/* A line of the launcher's own, on a line of its own; never waits. */
void streams_say(struct streams *, const char *line, size_t len);

#endif
