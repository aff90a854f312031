/* The server's copies of its agents' logs: what LOG_BYTES brings is written and acknowledged.
 * Private to link/. */
#ifndef LINK_LOG_RECEIVER_H
#define LINK_LOG_RECEIVER_H

#include "conn/conn.h"
#include "engine/engine.h"
#include "wire/message.h"

struct log_receiver; /* of a hub */
/* Readers are woken over sink. */
struct log_receiver *log_receiver_create(uv_loop_t *, struct engine_sink);
void log_receiver_destroy(struct log_receiver *); /* after the agents' logs; NULL-safe */

struct agent_logs; /* of an agent; all calls but create are NULL-safe */
struct agent_logs_source {
    struct generation generation;
    const char *node, *name; /* name: for the operator */
    const char *dir;         /* the copies lie below it */
};
struct agent_logs *agent_logs_create(struct log_receiver *, const struct agent_logs_source *);
void agent_logs_destroy(struct agent_logs *);
void agent_logs_up(struct agent_logs *, struct conn *); /* HELLO came over it */
void agent_logs_lost(struct agent_logs *);              /* it is gone */
/* Names of the roles, for logs of which nothing came yet. */
void agent_logs_launch(struct agent_logs *, const struct launch *);
/* The agent says where a log ends; final: it ends there. */
void agent_logs_expect(struct agent_logs *, const struct wire_log *, bool final);
/* LOG_BYTES. -1: not understood. */
int agent_logs_take(struct agent_logs *, const struct wire_frame *, struct arena *scratch);
/* Nothing more will come: what is missing becomes holes. */
void agent_logs_close(struct agent_logs *);

#endif
