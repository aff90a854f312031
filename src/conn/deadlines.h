/* The times by which something has to happen on a connection. Pure: the time is an argument, in
 * milliseconds of any clock that goes on. */
#ifndef CONN_DEADLINES_H
#define CONN_DEADLINES_H

#include <stdint.h>

enum deadline {
    DEADLINE_NONE,
    DEADLINE_HANDSHAKE, /* the other end has not said who it is */
    DEADLINE_ASK,       /* nothing was heard for a while: a frame asks whether it lives */
    DEADLINE_SILENCE,   /* nor was that answered */
    DEADLINE_FINISH     /* it does not take what was left to be sent, or does not close */
};

struct deadlines {
    uint64_t handshake_at, finish_at; /* UINT64_MAX: none */
    uint64_t ask_ms, silence_ms;      /* keep-alive; ask_ms 0: off */
    uint64_t heard_at, asked_at, looked_at;
};

void deadlines_init(struct deadlines *, uint64_t now, uint64_t handshake_ms); /* 0: none */
/* From now on it is asked after ask_ms without a word, and again as often; after silence_ms, which
 * is more, it counts as gone. */
void deadlines_keep_alive(struct deadlines *, uint64_t now, uint64_t ask_ms, uint64_t silence_ms);
/* What is due, one at a time: to be called until NONE. A process that was stopped itself for so
 * long that it cannot know begins to wait anew. */
enum deadline deadlines_due(struct deadlines *, uint64_t now);
uint64_t deadlines_next(const struct deadlines *); /* UINT64_MAX: none */

#endif
