/* When a launcher did what, for who measures it: with MUSTER_LAUNCH_TRACE=FILE each moment becomes
 * one line of JSON at the end of that file (doc/launch.md). Several launchers may share a file. */
#ifndef LAUNCH_TRACE_H
#define LAUNCH_TRACE_H

#include <stdint.h>

struct trace;
/* NULL: nothing is traced. A file that cannot be opened is said on stderr. */
struct trace *trace_open(void);
void trace_close(struct trace *); /* NULL-safe */
/* moment: a word; local_rank: UINT32_MAX when it is of none. NULL-safe. */
void trace_mark(struct trace *, const char *moment, uint32_t round, uint32_t local_rank);

#endif
