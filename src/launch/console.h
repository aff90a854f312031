/* The launcher's stdout or stderr, written without ever blocking the loop: a pager or a slow
 * terminal makes readers wait, not the launcher. The descriptor is shared with others, so its flags
 * are left as they are. SIGPIPE must be ignored by the process. */
#ifndef LAUNCH_CONSOLE_H
#define LAUNCH_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define CONSOLE_PENDING_MAX (8u << 20)

struct console;
struct console_sink {
    void (*drained)(void *arg); /* nothing is pending any more */
    void (*freed)(void *arg);   /* after console_close: the last call */
    void *arg;
};
/* fd stays the caller's. A closed fd is one that takes everything and shows nothing. */
struct console *console_create(uv_loop_t *, int fd, struct console_sink);
/* What is still pending is dropped (console_flush first); memory goes with the loop's next turn. */
void console_close(struct console *);

/* Something is pending: add nothing that can wait. */
bool console_blocked(const struct console *);
/* Writes or keeps; beyond CONSOLE_PENDING_MAX, or when nobody reads any more, it is dropped. */
void console_put(struct console *, const char *bytes, size_t len);
bool console_mid_line(const struct console *); /* the last byte was not a line end */
/* Waits until all is written; gives up after idle_ms without progress. */
void console_flush(struct console *, uint64_t idle_ms);

#endif
