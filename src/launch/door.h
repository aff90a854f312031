/* The port of a launcher that leads or may lead: accepts, and tells by the first bytes who calls:
 * a launcher of this job, a launcher with another token, a client of torch's store, or a stranger
 * (closed without a word). */
#ifndef LAUNCH_DOOR_H
#define LAUNCH_DOOR_H

#include "base/err.h"
#include "wire/rendezvous.h"

#include <stdbool.h>
#include <uv.h>

/* What a launcher of this job says first. The token travels as it is: it keeps apart those who
 * meet by accident, it does not stop somebody who listens in. -1: the token cannot be said (1 to
 * 128 printable characters without blanks). */
int door_preface(char out[RDZV_PREFACE_MAX + 1], const char *token, struct err *);

struct door_sink {
    /* fd is the receiver's now; extra came after the preface. */
    void (*caller)(void *arg, int fd, const void *extra, size_t len, bool token_is_good);
    void (*c10d)(void *arg, int fd, const void *bytes, size_t len);
    void *arg;
};
struct door;
/* addr: numeric, "localhost" (127.0.0.1) or "*" (all). port 0: any. *taken: somebody else listens
 * there; *foreign: the address is not of this machine. */
struct door_place {
    const char *addr;
    uint16_t port;
    bool taken, foreign;
};
struct door *door_open(uv_loop_t *, struct door_place *, const char *preface, struct door_sink,
                       struct err *);
void door_close(struct door *); /* NULL-safe; those who have not said who they are are closed */
uint16_t door_port(const struct door *);
uint16_t door_bound_port(int fd); /* of a listening socket */

#endif
