/* What the files of link/ share. Private. */
#ifndef LINK_HUB_H
#define LINK_HUB_H

#include "link/link.h"

#include "base/map.h"
#include "base/vec.h"
#include "conn/conn.h"
#include "link/code.h"
#include "wire/message.h"

#include <uv.h>

#define LAUNCHER_PIECE (1u << 20) /* bytes of one LAUNCHER_DATA frame */

/* Bytes that the launches of many agents have, each at its own place. */
struct shared_bytes {
    uint32_t users;
    size_t len;
    char at[];
};
struct kept_launch {
    uint32_t seq;
    char *frame; /* and those of its files and secrets before it; without the shared bytes */
    size_t len;
    struct shared_bytes *shared; /* before frame[cut]; NULL: none */
    size_t cut;
};
struct kept_stop {
    struct wire_stop stop;
};

struct agent {
    struct link_hub *hub;
    char *key; /* "job.generation.node" */
    struct generation generation;
    char *node;
    char hash_hex[65];
    uint64_t acked;    /* committed by the core */
    uint64_t seen;     /* passed to the core */
    uint64_t released; /* sequence of its RELEASED fact, 0: not yet */
    VEC(struct kept_launch) launches;
    VEC(struct kept_stop) stops;
    struct code_requests wants;
    char *code;              /* path of its own code; NULL: none */
    struct conn *conn;       /* NULL: not connected */
    bool hello;              /* its HELLO came on this connection */
    bool came;               /* ... on any */
    bool barred;             /* link_bar */
    struct agent_logs *logs; /* copies (log_receiver.c); NULL: its logs are on this disk */
    uint32_t launch_form;    /* newest that it reads, since its first HELLO */
};

struct link_hub {
    uv_loop_t *loop;
    struct engine_sink sink;
    struct string_map *by_key, *by_hash;
    struct string_map *held; /* hashes of tokens, to the hub */
    struct map *channels;
    uint32_t next_channel;
    struct map *signals; /* on their way */
    uint32_t next_signal;
    struct arena *scratch;
    struct link_peers peers[LINK_PEERS]; /* knows NULL: none */
    struct log_receiver *logs;
    struct link_code code;
    struct shared_bytes *hosts; /* of the newest launch that has them; NULL: none */
};

struct agent *hub_find(const struct link_hub *, struct generation, const char *node);

/* Channels of interactive commands (exec.c). */
void channel_from_agent(struct link_hub *, struct agent *, const struct wire_frame *);
void channels_drop(struct link_hub *, const struct agent *);  /* the agent's connection is gone */
void channels_go_on(struct link_hub *, const struct agent *); /* ... has room again */
void channels_destroy(struct link_hub *);

/* Signals on their way (signal.c). */
int signal_from_agent(struct link_hub *, const struct agent *, const struct wire_frame *);
void signals_drop(struct link_hub *, const struct agent *); /* the agent's connection is gone */
void signals_destroy(struct link_hub *);

#endif
