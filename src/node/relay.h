/* Launchers inside tasks reach the server through their agent: a Unix socket in the agent's
 * directory on one side, channels of the uplink on the other. What they say passes through
 * (wire/rendezvous.h), with values of secrets covered in texts for people. */
#ifndef NODE_RELAY_H
#define NODE_RELAY_H

#include "job/ids.h"
#include "node/masks.h"
#include "node/uplink.h"
#include "wire/message.h"

#include <stdbool.h>

#define RELAY_SOCKET "launch.sock" /* below the agent's directory, mode 0600 */

/* Whose cookie is it? false: of no attempt that runs here. */
struct relay_config {
    uint32_t cookie_ms;        /* for saying it after a call */
    const struct masks *masks; /* what no text shows; NULL: nothing */
    bool (*whose)(void *arg, const char *cookie, size_t len, struct task_ref *, uint32_t *attempt);
    void *arg;
};

#define RELAY_COOKIE_MS 10000u

/* Covers values in the bodies of those frames of a stream whose texts are for people. at is the
 * front of a frame, or *left bytes before one. How many bytes are whole frames, or of one that is
 * too long to wait for: the others are to come again. */
struct relay_stream {
    size_t left;
    bool texts; /* in those */
};
size_t relay_cover(struct relay_stream *, const struct masks *, char *at, size_t len);

struct relay;
/* Listens at once. NULL with err: launchers will not find a socket. */
struct relay *relay_create(const char *dir, struct uplink *, struct relay_config, struct err *);
void relay_destroy(struct relay *); /* NULL-safe like all below; hangs up on everybody */

/* The server has said WELCOME. Launchers that it knew over an earlier connection are hung up on
 * (they connect anew and say what they hold), those that came meanwhile are introduced. */
void relay_up(struct relay *);
void relay_lost(struct relay *);  /* the uplink is down: new launchers wait, the others too */
void relay_go_on(struct relay *); /* the uplink has room again */
void relay_data(struct relay *, const struct wire_data *); /* for one of them */
void relay_close(struct relay *, uint32_t channel);        /* once it has what was sent to it */

#endif
