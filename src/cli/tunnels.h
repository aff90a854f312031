/* The way to the server for machines that cannot dial it: ssh forwards a port of theirs, one
 * process for each machine, which has ssh connect again whenever that ended. */
#ifndef CLI_TUNNELS_H
#define CLI_TUNNELS_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct tunnels_config {
    const char *ssh;          /* "ssh -J gate" */
    const char *const *to;    /* for ssh: "me@gpu2"; does not begin with "-" */
    const char *const *names; /* for people */
    size_t n;
    uint16_t port;     /* on the loopback interface there */
    const char *place; /* "ADDR:PORT", of the server, as seen from here */
};
struct tunnels;
/* They are being opened; what is wrong with one is said on stderr, and it is tried again. */
struct tunnels *tunnels_open(struct arena *, const struct tunnels_config *, struct err *err);
void tunnels_drop(struct tunnels *, size_t i);
size_t tunnels_left(const struct tunnels *);
void tunnels_wait(void);              /* until this process is told to end */
void tunnels_close(struct tunnels *); /* all of them. NULL-safe */

#endif
