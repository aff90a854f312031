/* A terminal or pipes here, and a program elsewhere: frames both ways over an upgraded connection,
 * as exec and attach use them. On a terminal the bytes go through raw, so that editing, colours and
 * Ctrl-C belong to the other side. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

struct http_duplex;

/* Of attach alone: what its connection may break under. */
struct session_place {
    bool met;        /* REACHED came on this connection: input may go */
    uint64_t input;  /* bytes that the task has taken */
    uint64_t output; /* place in the log that was shown */
    uint64_t next;   /* and that is with the next piece of output */
    struct buf kept; /* input behind `input`, sent or not */
};
struct session {
    struct http_duplex *line; /* open, the caller's; a new one after a break */
    bool tty, input_open;
    bool send_end;                 /* the end of the input is told */
    int to;                        /* stdout of the program goes there */
    FILE *text[2];                 /* without a terminal: its stdout and stderr, made when needed */
    const char *greeting, *before; /* to stderr and there, once it is raw; NULL: nothing (more) */
    int status;                    /* out: exit status of the program */
    bool detached;                 /* out: by Ctrl-P Ctrl-Q */
    bool interrupted;              /* out: by a signal, status is 128 and its number */
    struct session_place *place;   /* NULL: exec */
    bool ended, more, held;        /* more: was read last; held: Ctrl-P waits for what comes next */
    int signals;                   /* signalfd; -1 without a terminal */
    struct buf in, out;
    struct buf words; /* of muster itself: shown when the terminal is back in order */
};
void session_init(struct session *, bool tty);
void session_fini(struct session *); /* closes line */
/* Until the program ends, or the user detaches: 0. ERR_UNAVAILABLE: the connection broke. Bytes
 * that came with the answer lie in `in`. */
int session_run(struct session *, struct err *err);

struct winsize session_window(void);

#endif
