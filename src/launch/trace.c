/* One write per line to a file opened for appending: lines of several launchers never mix. A file
 * that cannot be opened is said once on stderr, and nothing is traced then. */
#include "launch/trace.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct trace {
    int fd;
};

struct trace *trace_open(void)
{
    const char *path = getenv("MUSTER_LAUNCH_TRACE");
    if (!path || !*path)
        return NULL;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) {
        fprintf(stderr, "MUSTER_LAUNCH_TRACE: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    struct trace *trace = mem_new(sizeof *trace);
    trace->fd = fd;
    return trace;
}

void trace_close(struct trace *trace)
{
    if (!trace)
        return;
    (void)close(trace->fd);
    free(trace);
}

void trace_mark(struct trace *trace, const char *moment, uint32_t round, uint32_t local_rank)
{
    char line[160], rank[32] = "";
    if (!trace)
        return;
    if (local_rank != UINT32_MAX)
        snprintf(rank, sizeof rank, ",\"local_rank\":%u", local_rank);
    struct timespec now; /* as Python has it: time.monotonic() */
    clock_gettime(CLOCK_MONOTONIC, &now);
    int n = snprintf(line, sizeof line,
                     "{\"at\":%lld.%06ld,\"pid\":%d,\"moment\":\"%.30s\",\"round\":%u%s}\n",
                     (long long)now.tv_sec, now.tv_nsec / 1000, (int)getpid(), moment, round, rank);
    /* A full pipe loses lines; it never holds the launcher. */
    if (write(trace->fd, line, (size_t)n) < 0)
        return;
}
