/* Following a stream of the server through its restarts, from the place reached. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/cmd.h"

struct follow {
    /* The request that goes on from the place reached; body "" is a GET. */
    void (*request)(void *arg, struct buf *path, struct buf *body);
    bool (*record)(void *arg, const struct text_node *); /* false: enough */
    /* NULL or told: the server does not answer; it answers again after so long. */
    void (*gone)(void *arg);
    void (*back)(void *arg, uint64_t after_ms);
    void *arg;
    char state[32]; /* out: of the job, when the stream ended by itself */
};
/* 0 when the stream ended or record had enough; -1: refused. A server that is gone is waited for,
 * for as long as it takes. */
int follow_run(struct cli *, struct follow *, struct err *err);
/* Until a server answers; gone and back are told of a wait. */
void follow_wait(struct cli *, const struct follow *);

/* One line on stderr at each turn: for followers that have no screen of their own. */
void follow_say_gone(void *arg);
void follow_say_back(void *arg, uint64_t after_ms);

#endif
