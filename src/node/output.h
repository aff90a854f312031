/* The output of one attempt: pipes from its processes into its log, the last lines kept for the
 * end's report. */
#ifndef NODE_OUTPUT_H
#define NODE_OUTPUT_H

#include "base/err.h"
#include "job/ending.h"
#include "node/logfile.h"

#include <stdbool.h>
#include <uv.h>

#define OUTPUT_SCRATCH                                                                             \
    ((size_t)RECORD_MAX) /* bytes of scratch space that all outputs of a loop share */

struct output_sink {
    void (*grew)(void *arg);   /* the log is longer now */
    void (*closed)(void *arg); /* the last open stream reached its end */
    void *arg;
};

struct output;
struct output *output_create(uv_loop_t *, struct logfile * /* given away */, char *scratch,
                             struct output_sink);
/* What its log is not to show; they stay the caller's. */
struct masks;
void output_mask(struct output *, const struct masks *);
void output_destroy(struct output *); /* NULL-safe; memory goes when libuv has let go of it */

/* Opens a pipe for one stream (once each); *child_end is the caller's to hand to a process and to
 * close. */
int output_open(struct output *, enum record_stream, int *child_end, struct err *);
/* The same for a terminal, fd given away: its bytes are one stream, and none is held back to make
 * lines whole, because it is typed into. */
void output_open_terminal(struct output *, int fd);
/* Reads what lies in the pipes now, without waiting, and closes them. */
void output_finish(struct output *);
void output_say(struct output *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t output_end(const struct output *);
/* The last whole lines, valid UTF-8, at most ENDING_TAIL_MAX bytes. */
const char *output_tail(const struct output *, char out[ENDING_TAIL_MAX + 1]);

#endif
