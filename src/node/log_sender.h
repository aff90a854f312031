/* Replication of logs: sends what attempts have written to a server that does not share this disk
 * (wire/message.h, LOG_BYTES), until it has acknowledged all of it. */
#ifndef NODE_LOG_SENDER_H
#define NODE_LOG_SENDER_H

#include "node/uplink.h"
#include "wire/message.h"

struct log_sender_sink {
    void (*done)(void *arg); /* every log is acknowledged to its end, after one was not */
    void *arg;
};
struct log_source { /* an attempt's log */
    struct task_ref task;
    uint32_t attempt;
    const char *role, *dir;
    uint64_t head, tail; /* its cap */
};

struct log_sender;
struct log_sender *log_sender_create(struct uplink *, struct log_sender_sink);
void log_sender_destroy(struct log_sender *); /* NULL-safe; memory goes when libuv has let go */

/* The log reaches end. The source is copied when it is a new one. */
void log_sender_grew(struct log_sender *, const struct log_source *, uint64_t end);
/* Nothing is written to it any more. */
void log_sender_close(struct log_sender *, struct task_ref, uint32_t attempt);

void log_sender_up(struct log_sender *); /* WELCOME came: asks how far the copies reach */
void log_sender_lost(struct log_sender *);
void log_sender_go_on(struct log_sender *); /* the uplink has room */
void log_sender_kept(struct log_sender *, const struct wire_log_kept_ack *);
bool log_sender_is_done(const struct log_sender *); /* every log is acknowledged to its end */

#endif
