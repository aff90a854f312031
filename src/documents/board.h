/* The board of a running job: small texts that its tasks leave for each other (where a task serves,
 * who owns a queue), kept until the next generation or the end, because what they say is of
 * processes. Rows of `object`, so that a server that was killed still has them; written into the
 * open transaction. */
#ifndef DOCUMENTS_BOARD_H
#define DOCUMENTS_BOARD_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct live_job;
struct store;

struct board_request {
    const char *owner; /* who asks */
    uint64_t job;
    const char *key;
    const char *value; /* put */
    size_t len;
    uint64_t after; /* get: only a later version */
};
struct board_entry { /* its version is 1 when it is put for the first time, then one more each time
                      */
    const char *key, *value;
    uint64_t version;
};
struct board_list { /* by key */
    struct board_entry *at;
    size_t n;
};
/* *version: what it is now. -1: ERR_INPUT, and ERR_CANNOT when the board is full. */
int board_set(struct store *, struct live_job *, const struct board_request *, uint64_t *version,
              struct err *err);
/* version 0: there is none (yet). In arena. */
struct board_entry board_find(struct store *, struct arena *, const struct board_request *);
int board_list(struct store *, struct arena *, uint64_t job, struct board_list *, struct err *err);
void board_clear(struct store *, struct live_job *);
void board_load(struct store *, struct live_job *); /* counts what the rows have */

#endif
